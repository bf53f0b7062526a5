#!/bin/sh
# Installs the packages of some workspaces for an image, as npm ci does with the same arguments, without what nothing there loads:
# the TypeScript compiler, which npm keeps as an optional peer of i18next, and types, sources and maps, because Node runs no
# TypeScript of a package.
set -eu
npm ci --omit=dev --no-audit --no-fund "$@"
rm -r node_modules/typescript node_modules/@typescript
find . -name .bin -path '*/node_modules/.bin' -prune -exec rm -r {} +
find . -type f \( -name '*.ts' -o -name '*.[cm]ts' -o -name '*.map' \) -delete
