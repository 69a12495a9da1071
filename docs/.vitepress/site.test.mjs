// Tests of what the website does with documents: node --test docs/.vitepress/site.test.mjs
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { createMarkdownRenderer } from 'vitepress'
import { checkPages, checkSite } from './check.mjs'
import { documents, searched, slug } from './markdown.mjs'

const root = mkdtempSync(path.join(tmpdir(), 'site-'))
after(() => rmSync(root, { recursive: true }))

// write writes files, given by their paths relative to root.
function write(files) {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true })
    writeFileSync(path.join(root, name), text)
  }
}

write({ 'docs/b.md': '# B\n\n## An `item`\n', 'main.go': '', 'examples/x/README.md': '# X\n', 'examples/shop/a.txt': '' })
const contents = [{ title: 'All', pages: { 'docs/a.md': 'A', 'docs/b.md': 'The B', 'examples/x/README.md': 'X' } }]
const md = await createMarkdownRenderer(root, { anchor: { slugify: slug }, attrs: { disable: true }, config: (m) => documents(m, root, contents) })
const env = () => ({ relativePath: 'docs/a.md', path: path.join(root, 'docs/a.md'), cleanUrls: false })

for (const [text, want] of Object.entries({
  'See [b.md](b.md).': '<a href="/docs/b.html">The B</a>',
  'See [b.md](b.md#an-item).': '<a href="/docs/b.html#an-item">An item</a>',
  'See [more](b.md).': '<a href="/docs/b.html">more</a>',
  'See [it](../main.go).': 'href="https://github.com/millhand/millhand/blob/main/main.go"',
  'See [it](../examples/x).': '<a href="/examples/x/">it</a>',
  'See [it](../examples/shop).': 'href="https://github.com/millhand/millhand/tree/main/examples/shop"',
  'a {{ b }} in `{{ c }}`': 'a &#123;&#123; b }} in <code>&#123;&#123; c }}</code>',
  'guide.md and :x:': 'guide.md and :x:',
  '![a](./a.svg)': '<p class="drawing" tabindex="0"><img src="./a.svg" alt="a"',
  '## The `--flag`, and_more (x)': 'id="the---flag-and_more-x"',
  '| key | value |\n|---|---|\n| `a[].b` | c |': '<tr id="a.b">\n<td><a class="key" href="#a.b"><code>a[].b</code></a></td>',
  '| key | value |\n|---|---|\n| <a id="a.b"></a>`a[].b` | c |': '<tr id="a.b">\n<td><a class="key" href="#a.b"><code>a[].b</code></a></td>',
})) test(`renders ${text}`, () => assert.ok(md.render(text, env()).includes(want), md.render(text, env())))

for (const [text, want] of Object.entries({
  '[x](gone.md)': /gone\.md, which does not exist/,
  '[b.md](b.md#gone)': /no section gone/,
  'a <b>bold</b> text': /raw HTML/,
  '| key |\n|---|\n| <a id="other"></a>`a` |': /raw HTML/,
  '<!-- a comment -->': /raw HTML/,
  '<script>alert()</script>': /raw HTML/,
})) test(`refuses ${text}`, () => assert.throws(() => md.render(text, env()), want))

test('the search finds keys', () => assert.match(searched('| key |\n|---|\n| `a` |', env(), md), /<h3>a<a href="#a"><\/a><\/h3>/))

test('each document is in the contents once', () => {
  checkPages(['docs/a.md', 'docs/b.md', 'examples/x/README.md'], contents)
  assert.throws(() => checkPages(['docs/a.md', 'docs/b.md', 'examples/x/README.md', 'docs/c.md'], contents), /docs\/c\.md/)
  assert.throws(() => checkPages(['docs/a.md', 'docs/b.md'], contents), /examples\/x\/README\.md/)
})

for (const [html, want] of Object.entries({
  '<a href="/base/b.html#x">': undefined,
  '<a href="b.html#gone">': /no such section/,
  '<a href="gone.html">': /does not exist/,
  '<a href="/b.html">': /outside of the site/,
  '<img src="https://example.com/x.png">': /loads https/,
  '<p id="x"><p id="x">': /twice/,
})) {
  test(`checks ${html}`, () => {
    write({ 'dist/a.html': html, 'dist/b.html': '<h1 id="x">' })
    const check = () => checkSite(path.join(root, 'dist'), '/base/')
    want ? assert.throws(check, want) : check()
  })
}
