#!/bin/sh
# Bundles the npm package zod for the host: go generate ./internal/extension/jshost. The version is that
# of the plugin package of OpenCode 1.18. Its translations, more than half of it, are a file of
# their own that is loaded by their first use.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-save --ignore-scripts --prefix "$dir" zod@4.1.8 esbuild@0.28.2
locales=$dir/node_modules/zod/v4/locales
bundle() {
	"$dir/node_modules/@esbuild/$(node -p 'process.platform + "-" + process.arch')/bin/esbuild" "$1" \
		--bundle --minify --platform=node --format="$2" --target=node20 --legal-comments=none --log-level=warning | gzip -9n
}
bundle "$locales/index.js" cjs >host/zod-locales.cjs.gz
names=$(sed -n 's/^export { default as \([A-Za-z0-9]*\) } from .*/\1/p' "$locales/index.js")
{
	echo 'import { createRequire } from "node:module";'
	echo 'const load = createRequire(import.meta.url);'
	echo 'export { default as en } from "./en.js";'
	for name in $names; do
		[ "$name" = en ] || echo "export const $name = (...args) => load(\"./zod-locales.cjs\").$name(...args);"
	done
} >"$dir/lazy.js"
mv "$dir/lazy.js" "$locales/index.js"
printf 'export * from "zod"\nexport { default } from "zod"\n' >"$dir/zod.mjs"
bundle "$dir/zod.mjs" esm >host/zod.mjs.gz
