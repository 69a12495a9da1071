//go:build linux

package child

// failure is an error that names what failed. Package fmt is initialized after many others.
type failure struct {
	what string
	err  error
}

// failed wraps an error.
func failed(what string, err error) error { return &failure{what, err} }

func (f *failure) Error() string { return f.what + ": " + f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

// unable is an error of the command, or of those that run at the same time, and not of the sandbox.
type unable struct{ err error }

func (u unable) Error() string { return u.err.Error() }

func (u unable) Unwrap() error { return u.err }
