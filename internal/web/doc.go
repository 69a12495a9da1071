// Package web fetches pages from the network without being led to where nobody
// should go.
//
// What may be reached is a [Reach]: every public address, some hosts, or
// nothing. It is asked twice: about the letters of a URL, before anything
// happens ([Reach.Refusal]), and about the address that is really being dialled,
// for the first request and after every redirect ([Client.Get]); a name that
// leads to another address the second time therefore leads nowhere. An address
// that is not public is reached only if its host is named.
//
// The package also makes text of what it fetched: it knows character sets
// ([Page.Text]) and turns HTML into Markdown or plain text. It sends no
// cookies, no credentials and no Referer, uses no proxy, and runs nothing that a
// page holds.
package web
