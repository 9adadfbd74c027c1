// Checks a metering log with golang.org/x/mod/sumdb: note verifies the signatures of the log, tlog
// the proofs. Reads one JSON object from standard input; exits non-zero at the first thing that does
// not hold. It must not be told any hash that it can compute.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type inclusion struct {
	Index int64
	Proof []tlog.Hash
}

type consistency struct {
	Old     int64
	OldRoot tlog.Hash
	Proof   []tlog.Hash
}

type input struct {
	Vkey          string
	Checkpoint    string
	Leaves        [][]byte
	Inclusions    []inclusion
	Consistencies []consistency
	Tiles         map[string][]byte
}

func check(what string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
		os.Exit(1)
	}
}

func main() {
	var in input
	check("input", json.NewDecoder(os.Stdin).Decode(&in))
	verifier, err := note.NewVerifier(in.Vkey)
	check("vkey", err)
	opened, err := note.Open([]byte(in.Checkpoint), note.VerifierList(verifier))
	check("note", err)
	var origin, encoded string
	var size int64
	_, err = fmt.Sscanf(opened.Text, "%s\n%d\n%s\n", &origin, &size, &encoded)
	check("checkpoint", err)
	root, err := tlog.ParseHash(encoded)
	check("root", err)

	var stored []tlog.Hash
	read := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			out[i] = stored[index]
		}
		return out, nil
	})
	for n, leaf := range in.Leaves {
		hashes, err := tlog.StoredHashes(int64(n), leaf, read)
		check("stored hashes", err)
		stored = append(stored, hashes...)
	}
	computed, err := tlog.TreeHash(size, read)
	check("tree hash", err)
	if computed != root || int64(len(in.Leaves)) != size {
		check("root", fmt.Errorf("expected %v, got %v", computed, root))
	}
	for _, one := range in.Inclusions {
		leaf := tlog.RecordHash(in.Leaves[one.Index])
		check("inclusion", tlog.CheckRecord(one.Proof, size, root, one.Index, leaf))
	}
	for _, one := range in.Consistencies {
		check("consistency", tlog.CheckTree(one.Proof, size, root, one.Old, one.OldRoot))
	}
	for path, data := range in.Tiles {
		tile, err := tlog.ParseTilePath(path)
		check("tile path", err)
		want, err := tlog.ReadTileData(tile, read)
		check("tile", err)
		if string(want) != string(data) {
			check(path, fmt.Errorf("holds other hashes"))
		}
	}
	fmt.Printf("%s %d ok\n", origin, size)
}
