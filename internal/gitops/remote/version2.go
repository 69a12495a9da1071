package remote

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// Version 2 of the protocol (gitprotocol-v2(5)), which go-git does not have, is used for fetches from servers: they list
// branches and tags only, where version 0 lists all references, as those of each pull request.

// delimiter ends a section.
const delimiter = "0001"

// isVersion2 reports whether an advertisement is one of version 2. It waits for no bytes that may be missing.
func isVersion2(in *bufio.Reader) bool {
	for _, start := range []string{"000eversion 2\n", "001e# service=git-upload-pack\n0000000eversion 2\n"} {
		if size, _ := in.Peek(len(delimiter)); string(size) != start[:len(delimiter)] {
			continue
		}
		head, _ := in.Peek(len(start))
		return string(head) == start
	}
	return false
}

// packet reads a packet without the end of its line; "" ends a section or a response.
func packet(r io.Reader) (string, error) {
	var size [len(delimiter)]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return "", err
	}
	if string(size[:]) == delimiter {
		return "", nil
	}
	s := pktline.NewScanner(io.MultiReader(bytes.NewReader(size[:]), r))
	if !s.Scan() {
		return "", cmp.Or(s.Err(), io.ErrUnexpectedEOF)
	}
	return strings.TrimSuffix(string(s.Bytes()), "\n"), nil
}

// command encodes a command.
func command(name string, arguments ...string) ([]byte, error) {
	var out bytes.Buffer
	e := pktline.NewEncoder(&out)
	err := e.EncodeString("command=" + name + "\n")
	out.WriteString(delimiter)
	err = errors.Join(err, e.EncodeString(arguments...), e.Flush())
	return out.Bytes(), err
}

// list reads an advertisement of version 2, and asks for the references.
func (c *conversation) list(in io.Reader) error {
	features := map[string]string{}
	for ended := false; !ended; {
		line, err := packet(in)
		if err != nil {
			return err
		}
		name, value, _ := strings.Cut(line, "=")
		features[name] = value
		_, known := features["version 2"]
		ended = line == "" && known // the service may come before it, with an end of its own
	}
	if format := cmp.Or(features["object-format"], "sha1"); format != "sha1" {
		return unsupportedFormat(format)
	}
	c.version2 = true
	able := []capability.Capability{capability.Sideband64k}
	if slices.Contains(strings.Fields(features["fetch"]), "shallow") {
		able = append(able, capability.Shallow)
	}
	for _, one := range able {
		if err := c.refs.Capabilities.Set(one); err != nil {
			return err
		}
	}
	return c.listReferences()
}

func (c *conversation) listReferences() error {
	out, err := command("ls-refs", "symrefs\n", "ref-prefix HEAD\n", "ref-prefix "+gitdir.BranchPrefix+"\n", "ref-prefix "+gitdir.TagPrefix+"\n")
	if err != nil {
		return err
	}
	response, err := c.transport.ask(out)
	for err == nil {
		var line string
		if line, err = packet(response); line == "" {
			break
		}
		err = c.addListed(strings.Fields(line))
	}
	return err
}

// unsupportedFormat is the error for a repository with other hashes.
func unsupportedFormat(name string) error {
	return &gitdir.UnsupportedError{Reason: fmt.Sprintf("object format %s not supported, only sha1", name)}
}

// addListed adds a reference: its hash, its name and attributes.
func (c *conversation) addListed(fields []string) error {
	if len(fields) < 2 || !plumbing.IsHash(fields[0]) {
		return fmt.Errorf("invalid line in the list of references: %q", oneLine(strings.Join(fields, " ")))
	}
	hash := plumbing.NewHash(fields[0])
	if fields[1] != plumbing.HEAD.String() {
		c.refs.References[fields[1]] = hash
		return nil
	}
	c.refs.Head = &hash
	for _, attribute := range fields[2:] {
		if target, ok := strings.CutPrefix(attribute, "symref-target:"); ok {
			return c.refs.Capabilities.Add(capability.SymRef, "HEAD:"+target)
		}
	}
	return nil
}

// request2 sends a request, and returns the response from its pack on.
func (c *conversation) request2(w request) (response io.Reader, update packp.ShallowUpdate, err error) {
	arguments := []string{"no-progress\n", "ofs-delta\n"}
	if w.thin {
		arguments = append(arguments, "thin-pack\n")
	}
	for _, list := range []struct {
		name   string
		hashes []plumbing.Hash
	}{{"want", w.want}, {"have", w.have}, {"shallow", w.shallow}} {
		for _, h := range list.hashes {
			arguments = append(arguments, list.name+" "+h.String()+"\n")
		}
	}
	if w.depth > 0 {
		arguments = append(arguments, fmt.Sprintf("deepen %d\n", w.depth))
	}
	out, err := command("fetch", append(arguments, "done\n")...)
	if err != nil {
		return nil, update, err
	}
	if response, err = c.transport.exchange(func() io.Reader { return bytes.NewReader(out) }, int64(len(out))); err != nil {
		return nil, update, err
	}
	for {
		line, err := packet(response)
		if err != nil {
			return nil, update, fmt.Errorf("read response: %w", err)
		}
		switch kind, hash, _ := strings.Cut(line, " "); {
		case line == "packfile":
			return response, update, nil
		case kind == "shallow":
			update.Shallows = append(update.Shallows, plumbing.NewHash(hash))
		case kind == "unshallow":
			update.Unshallows = append(update.Unshallows, plumbing.NewHash(hash))
		}
	}
}
