package state

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
)

// alphabet85 has the digits of git's base 85, those of RFC 1924.
const alphabet85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

// lineBytes is the maximum number of bytes in a line of a binary patch.
const lineBytes = 52

// writeLiteral writes content as a literal of a binary patch: its size, and its
// deflated bytes in base 85.
func writeLiteral(out *bytes.Buffer, data []byte) error {
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	if _, err := z.Write(data); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	fmt.Fprintf(out, "literal %d\n", len(data))
	for rest := packed.Bytes(); len(rest) > 0; {
		n := min(len(rest), lineBytes)
		writeLine85(out, rest[:n])
		rest = rest[n:]
	}
	out.WriteByte('\n')
	return nil
}

// writeLine85 writes up to 52 bytes after a letter for their number. Four bytes
// become five digits; the last ones are padded with zeros.
func writeLine85(out *bytes.Buffer, data []byte) {
	if n := len(data); n <= 26 {
		out.WriteByte(byte('A' + n - 1))
	} else {
		out.WriteByte(byte('a' + n - 27))
	}
	for len(data) > 0 {
		var four [4]byte
		n := copy(four[:], data)
		data = data[n:]
		var digits [5]byte
		value := binary.BigEndian.Uint32(four[:])
		for i := len(digits) - 1; i >= 0; i-- {
			digits[i] = alphabet85[value%85]
			value /= 85
		}
		out.Write(digits[:])
	}
	out.WriteByte('\n')
}
