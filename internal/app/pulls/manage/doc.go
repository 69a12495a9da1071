// Package manage opens the pull requests of saved runs with the credentials of their manifests, and does with them what is
// ordered. What an order does to a pull request is in package pulls; it reads no command lines.
package manage
