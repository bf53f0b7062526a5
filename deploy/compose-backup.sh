#!/bin/sh
# Backs up the running product of docker-compose.yml, and stops nothing: docs/guides/operators/backup.md#docker-compose
#   deploy/compose-backup.sh <directory> [options of docker compose]
# It writes <directory>/<time>/ with the databases and the files. After BACKUP_DAYS (35) it deletes a backup, and what only this one needed in
# the journals. A backup that is not complete has a name that ends with .partial.
set -eu
umask 077
directory=${1:?usage: deploy/compose-backup.sh <directory> [options of docker compose]}
shift
days=${BACKUP_DAYS:-35}
# Younger entries of a journal may belong to an open deposit.
[ "$days" -ge 5 ] || { echo 'BACKUP_DAYS must be at least 5' >&2; exit 64; }
id=$(date -u +%Y-%m-%dT%H-%M-%SZ)
partial=$directory/$id.partial
mkdir -p "$partial"

# The options are deliberately not quoted, as they contain no spaces. Without standard input nothing reads that of the caller.
options=$*
within() { docker compose $options exec -T "$@" </dev/null; }

# Before the dump: a restore refuses a journal without the marker.
for journal in identity wallet store-billing; do
  within "$journal" node packages/shared/src/runtime/mark-backup-cli.ts "$id"
done
# The password is in a file, because the arguments of a process can be listed.
within mongodb sh -ec '
  umask 077
  trap "rm -f /tmp/mongodump.yaml" EXIT
  printf "password: \"%s\"\n" "$(cat /run/credentials/administrator)" > /tmp/mongodump.yaml
  mongodump --quiet --config=/tmp/mongodump.yaml --username=administrator --authenticationDatabase=admin --oplog --gzip --archive
' >"$partial/dump.gz"
# After the dump: a file without a row is swept, but a row without a file is lost. Exit code 1 of tar: an upload has ended meanwhile.
if [ "$(within media printenv MEDIA_STORAGE || true)" != s3 ]; then
  within media sh -c 'tar -C /data/media -cf - . || [ $? -eq 1 ]' >"$partial/files.tar"
fi
mv "$partial" "$directory/$id"

find "$directory" -mindepth 1 -maxdepth 1 -type d -name '20*Z*' -mtime "+$days" -exec rm -r {} +
for journal in identity wallet store-billing; do
  within "$journal" find /data/journal '(' -name '*.json' -o -name '*.backup' ')' -mtime "+$days" -delete
done
echo "$directory/$id"
