// Package patch parses and applies patches in the apply_patch format, with
// lines such as "*** Update File: " and "@@ ", which some models are trained to
// write.
//
// [Parse] reads a patch, [Patch.Paths] names every file that it touches, and
// [Apply] works out what all of them would hold afterwards. Nothing is written
// by this package: Apply returns everything there is to do or with an
// error, so that a patch is done whole or not at all.
//
// Models copy imperfectly. The lines of a hunk are therefore looked for in
// passes, exactly first, then without white space at their ends, and last with
// typographic signs taken for plain ones; and what they find stays as the file
// has it: package merge applies the difference between removed and added lines to
// them. A file's lines that are not removed keep every byte, line ends included. A
// hunk that fits at several positions is refused. Where a hunk can't be placed, the error names the file, the hunk
// and the nearest lines.
//
// The package touches no files, and it does not judge paths: absolute ones and
// ones with ".." are for the caller to refuse.
package patch
