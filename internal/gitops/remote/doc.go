// Package remote mirrors, fetches from and pushes to remote repositories.
//
// Remotes are reached by https, http, ssh and file in this process, by versions 2 and
// 0 of git's protocol, so credentials stay in it. The git program runs only to combine the packs of mirrors, and to
// fetch from or push to a directory on this machine (git upload-pack and git
// receive-pack, as for any client; without configuration of machine and user).
// A fetch sends once what is here and does not negotiate; that of a mirror accepts thin packs. A push moves one
// branch, from the commit that the caller expects it to be at, which the server
// checks when it moves it. What was received is seen, and counted on, only once
// it is complete and its checksum was found right; objects that a mirror has
// are not hashed again later.
//
// The package does not push tags, deletes a branch only at the commit that the caller expects it to be at, gets
// credentials from its caller ([Auth]), and does not read ssh's configuration.
package remote
