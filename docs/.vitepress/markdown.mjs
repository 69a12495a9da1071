// What the site does with the Markdown of the documents, which forges show as it is.
import { existsSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'

const repository = 'https://github.com/millhand/millhand'

// slug makes the anchor of a heading as GitHub does, so that references work there, too.
export const slug = (text) => text.trim().toLowerCase().replace(/[^\p{L}\p{N}\-_ ]/gu, '').replaceAll(' ', '-')

// address is where a document is in the site: a README is the index of its directory.
export const address = (source) => source.replace(/README\.md$/, 'index.md')

// documents adds the rules to the parser md: root is the repository, contents the navigation.
export function documents(md, root, contents) {
  const titles = Object.assign({}, ...contents.map((section) => section.pages))
  md.core.ruler.disable('emoji', true) // :words: are text
  md.linkify.set({ fuzzyLink: false, fuzzyEmail: false }) // guide.md is a file
  md.core.ruler.after('inline', 'documents', ({ tokens, env }) => {
    const source = env.relativePath ?? path.relative(root, env.path)
    tokens.forEach((token, i) => {
      if (token.type.startsWith('html_')) throw new Error(`${source} has raw HTML: ${token.content}`)
      if (token.type === 'code_block') Object.assign(token, { type: 'fence', info: 'text' }) // which scrolls on phones
      if (token.type === 'tr_open') addAnchor(tokens, i, env)
      if (isDrawing(tokens[i + 1])) token.attrs = [['class', 'drawing'], ['tabindex', '0']] // which scrolls on phones, also by keys
      if (token.type === 'inline') resolve(token.children, source, root, titles)
    })
  })
  for (const rule of ['text', 'code_inline']) {
    const render = md.renderer.rules[rule]
    // Vue would evaluate what is between braces.
    md.renderer.rules[rule] = (...args) => render(...args).replaceAll('{{', '&#123;&#123;')
  }
}

// isDrawing reports whether a paragraph has only a drawing.
const isDrawing = (inline) => inline?.children?.length === 1 && inline.children[0].type === 'image' && inline.children[0].attrGet('src').endsWith('.svg')

// addAnchor gives a row that starts with a key, in a table with the heading "key", the key as its anchor. One that the document
// has for forges, `<a id="KEY"></a>` before the key, is replaced by it.
function addAnchor(tokens, row, env) {
  const cell = tokens[row + 2]
  if (tokens[row + 1].type === 'th_open') env.keys = cell.content === 'key'
  const written = cell.content.match(/^<a id="([^"]*)"><\/a>`([^`]*)`/)
  if (written && written[1] === written[2].replaceAll('[]', '')) cell.children.splice(0, 2)
  const code = cell.children?.[0]
  if (!env.keys || tokens[row + 1].type !== 'td_open' || code?.type !== 'code_inline') return
  const id = code.content.replaceAll('[]', '')
  tokens[row].attrSet('id', id)
  const open = new code.constructor('link_open', 'a', 1)
  open.attrs = [['class', 'key'], ['href', '#' + id]]
  cell.children.splice(0, 1, open, code, new code.constructor('link_close', 'a', -1))
}

// resolve changes the references of a document: they lead to a page if there is one, otherwise to the
// file in the repository. A file name as the text becomes the title of the page or section.
function resolve(tokens, source, root, titles) {
  tokens.forEach((token, i) => {
    if (token.type.startsWith('html_')) throw new Error(`${source} has raw HTML: ${token.content}`)
    const href = token.type === 'link_open' ? token.attrGet('href') : ''
    if (!href || /^([a-z]+:|#|\/\/)/i.test(href)) return
    const [name, fragment] = href.split('#')
    let target = path.posix.normalize(path.posix.join(path.posix.dirname(source), decodeURI(name))).replace(/\/$/, '')
    if (!existsSync(path.join(root, target))) throw new Error(`${source} refers to ${href}, which does not exist`)
    if (titles[`${target}/README.md`]) target += '/README.md'
    if (!titles[target]) {
      const kind = statSync(path.join(root, target)).isDirectory() ? 'tree' : 'blob'
      token.attrSet('href', `${repository}/${kind}/main/${target}${fragment ? '#' + fragment : ''}`)
      return
    }
    token.attrSet('href', `/${address(target)}${fragment ? '#' + fragment : ''}`)
    const text = tokens[i + 1]
    if (text.content === target || text.content === path.posix.basename(target)) {
      text.content = fragment ? heading(path.join(root, target), fragment) : titles[target]
    }
  })
}

// heading returns the text of a heading of a file.
function heading(file, anchor) {
  const found = [...readFileSync(file, 'utf8').matchAll(/^#+ (.*)$/gm)].find(([, text]) => slug(text) === anchor)
  if (!found) throw new Error(`${file} has no section ${anchor}`)
  return found[1].replaceAll('`', '')
}

// searched renders a page for the index of the search, in which each key of a table is a section.
export function searched(source, env, md) {
  return md.render(source, env).replace(/<tr id="([^"]+)">/g, '<h3>$1<a href="#$1"></a></h3>')
}
