#!/bin/sh
# Installs the packages of some workspaces for an image, as npm ci does with the same arguments. It omits unused files:
# the TypeScript compiler, which npm keeps as an optional peer of i18next, and types, sources and maps, because Node does not
# run TypeScript in packages.
set -eu
npm ci --omit=dev --no-audit --no-fund "$@"
rm -r node_modules/typescript node_modules/@typescript
find . -name .bin -path '*/node_modules/.bin' -prune -exec rm -r {} +
find . -type f \( -name '*.ts' -o -name '*.[cm]ts' -o -name '*.map' \) -delete
