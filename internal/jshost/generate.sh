#!/bin/sh
# Bundles the npm package zod for the host: go generate ./internal/jshost. The version is that
# of the plugin package of OpenCode 1.18.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-save --ignore-scripts --prefix "$dir" zod@4.1.8 esbuild@0.28.2
printf 'export * from "zod"\nexport { default } from "zod"\n' >"$dir/zod.mjs"
"$dir/node_modules/@esbuild/$(node -p 'process.platform + "-" + process.arch')/bin/esbuild" "$dir/zod.mjs" \
	--bundle --minify --format=esm --target=node20 --legal-comments=none --log-level=warning | gzip -9n >host/zod.mjs.gz
