// Package keys is what the producers share: the interface in ../../README.md.
package keys

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
)

// Main runs produce with the bootstrap address and topic of the command line and the keys of standard input.
func Main(produce func(bootstrap, topic string, keys [][]byte) error) {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: PROGRAM BOOTSTRAP TOPIC")
		os.Exit(64)
	}
	keys, err := read()
	if err == nil {
		err = produce(os.Args[1], os.Args[2], keys)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, os.Args[0]+":", err)
		os.Exit(1)
	}
}

// read gives the keys; an empty one is an empty slice, not nil, which the clients would take for no key.
func read() ([][]byte, error) {
	var keys [][]byte

	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		key, err := hex.DecodeString(lines.Text())
		if err != nil {
			return nil, err
		}
		keys = append(keys, append([]byte{}, key...))
	}
	return keys, lines.Err()
}
