// The website of the documents: `make site` builds it, and fails for references that lead nowhere.
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { checkPages, checkSite } from './check.mjs'
import { contents } from './contents.mjs'
import { address, documents, searched, slug } from './markdown.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#176f6b"/>\
<path d="M3 12V4h2l3 4 3-4h2v8h-2V7l-3 4-3-4v5z" fill="#fff"/></svg>`

export default defineConfig({
  title: 'millhand',
  description: 'AI coding agents in batches and in CI',
  lang: 'en',
  base: process.env.MILLHAND_SITE_BASE || '/', // GitHub Pages serves a project below its name
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(icon)}` }]],
  srcDir: '..', // README.md and the examples are pages, too
  srcExclude: [
    'ARCHITECTURE.md', 'CONTRIBUTING.md', 'docs/changes/**', 'internal/**', 'report/**', 'runner/**', 'tasks/**', 'tools/**',
    'examples/*/shop/**', 'examples/tools/notes/**', 'examples/extension/handbook/**', // repositories that examples work on
  ],
  rewrites: address,
  metaChunk: true,
  buildConcurrency: 1, // the index of the search has the order of the pages
  vite: {
    plugins: [{ // the pages, which import Vue, are outside of the directory of node_modules
      name: 'vue-of-pages',
      enforce: 'pre',
      resolveId(id, importer, options) {
        if (/^vue(\/|$)/.test(id) && importer?.endsWith('.md')) return this.resolve(id, fileURLToPath(import.meta.url), { ...options, skipSelf: true })
      },
    }],
    build: { chunkSizeWarningLimit: 2000 }, // the index of the search
  },
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify: slug },
    attrs: { disable: true }, // braces are text
    codeTransformers: [{ preprocess(_, options) { options.tokenizeTimeLimit = 0 } }], // a slow machine makes the same site
    config: (md) => documents(md, root, contents),
  },
  themeConfig: {
    sidebar: contents.map(({ title, pages }) => ({
      text: title,
      ...(title === 'Examples' && { collapsed: true, link: '/examples/' }), // a group that only opens would be a button around one
      items: Object.entries(pages).map(([source, text]) => ({ text, link: '/' + address(source).replace(/(index)?\.md$/, '') })),
    })),
    nav: [
      { text: 'Getting started', link: '/docs/getting-started' },
      { text: 'Manifest keys', link: '/docs/manifest' },
      { text: 'Command line', link: '/docs/cli' },
    ],
    outline: [2, 3],
    search: { provider: 'local', options: { _render: searched } },
    editLink: { pattern: ({ filePath }) => `https://github.com/millhand/millhand/blob/main/${filePath}`, text: 'Source of this page' },
    socialLinks: [{ icon: 'github', link: 'https://github.com/millhand/millhand' }],
  },
  buildEnd(site) {
    checkPages(site.pages, contents)
    checkSite(site.outDir, site.site.base)
  },
})
