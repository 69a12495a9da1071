// Package web fetches pages from the network with protection against
// server-side request forgery.
//
// What may be reached is a [Reach]: every public address, some hosts, or
// nothing. It is checked twice: for the URL, before any request
// ([Reach.Refusal]), and for the address being dialed, for the first request
// and after every redirect ([Client.Get]), which defeats DNS rebinding. A
// non-public address is reachable only if its host is named.
//
// The package also converts pages to text: it decodes character sets
// ([Page.Text]) and converts HTML to Markdown or plain text. It sends no
// cookies, credentials or Referer, uses no proxy, and runs no scripts.
package web
