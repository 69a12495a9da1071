// Checks of the site that was built.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

// checkPages fails if a document is not in the navigation, or an entry of it has no document.
export function checkPages(pages, contents) {
  const listed = contents.flatMap((section) => Object.keys(section.pages))
  const wrong = [...pages.filter((p) => !listed.includes(p)), ...listed.filter((p, i) => !pages.includes(p) || listed.indexOf(p) !== i)]
  if (wrong.length > 0) throw new Error(`not once in contents.mjs, or not a page: ${wrong.join(', ')}`)
}

// checkSite fails if a page refers to a file or an anchor that the site does not have, loads something from
// elsewhere, or has an anchor twice.
export function checkSite(dir, base) {
  const pages = new Map()
  for (const name of readdirSync(dir, { recursive: true })) {
    if (name.endsWith('.html')) pages.set(name, read(path.join(dir, name)))
  }
  const problems = []
  for (const [name, page] of pages) {
    for (const id of page.ids) if (page.ids.indexOf(id) !== page.ids.lastIndexOf(id)) problems.push(`${name} has the anchor ${id} twice`)
    for (const src of page.loaded) if (/^(https?:)?\/\//.test(src)) problems.push(`${name} loads ${src}`)
    for (const href of [...page.references, ...page.loaded]) {
      if (/^([a-z]+:|\/\/)/i.test(href)) continue
      const to = new URL(href, `http://site${base}${name}`)
      if (!to.pathname.startsWith(base)) {
        problems.push(`${name} refers to ${href}, outside of the site`)
        continue
      }
      let target = decodeURI(to.pathname.slice(base.length))
      if (target === '' || target.endsWith('/')) target += 'index.html'
      const anchor = decodeURIComponent(to.hash.slice(1))
      if (!existsSync(path.join(dir, target))) problems.push(`${name} refers to ${href}, which does not exist`)
      else if (anchor && !pages.get(target)?.ids.includes(anchor)) problems.push(`${name} refers to ${href}, and ${target} has no such section`)
    }
  }
  if (problems.length > 0) throw new Error(`${problems.length} problems:\n${[...new Set(problems)].join('\n')}`)
}

// read returns the anchors of a page, and what it refers to and loads.
function read(file) {
  const html = readFileSync(file, 'utf8')
  const values = (expression) => [...html.matchAll(expression)].map((m) => m[1].replaceAll('&amp;', '&'))
  return {
    ids: values(/<[a-z][^>]*\sid="([^"]*)"/g),
    references: values(/<a\s[^>]*href="([^"]*)"/g),
    loaded: values(/<(?:link|script|img)\s[^>]*(?:href|src)="([^"]*)"/g),
  }
}
