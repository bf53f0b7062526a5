/**
 * Mutual TLS between the processes (docs/adr/0053). Both sides have a certificate of the product's own authority, with the name
 * of the process as its DNS name, whatever the address is under which the process is reached.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PeerCertificate } from 'node:tls';
import { ConfigError } from '../kernel/config.ts';
import type { ProcessName } from '../kernel/process-name.ts';

export interface ProcessTls {
  cert: Buffer;
  key: Buffer;
  /** Of the authority. */
  ca: Buffer;
}

/** In `TLS_DIRECTORY`; the names that Kubernetes and cert-manager use. */
export const TLS_FILES = { cert: 'tls.crt', key: 'tls.key', ca: 'ca.crt' } as const;

/** Undefined without `TLS_DIRECTORY`. Throws ConfigError for files that cannot be used. */
export const readProcessTls = (
  process: ProcessName,
  { TLS_DIRECTORY: directory }: { TLS_DIRECTORY?: string | undefined },
): ProcessTls | undefined => {
  if (directory === undefined) return undefined;
  try {
    const read = (name: string): Buffer => readFileSync(join(directory, name));
    const tls = { cert: read(TLS_FILES.cert), key: read(TLS_FILES.key), ca: read(TLS_FILES.ca) };
    const certificate = new X509Certificate(tls.cert);
    if (certificate.checkHost(process) === undefined)
      throw new Error(`its certificate is not for ${process}`);
    if (!certificate.checkPrivateKey(createPrivateKey(tls.key)))
      throw new Error(`${TLS_FILES.key} is not the key of the certificate`);
    return tls;
  } catch (error) {
    throw new ConfigError(`Wrong configuration: TLS_DIRECTORY: ${(error as Error).message}`);
  }
};

/** `certificate`: verified against the authority. */
export const isCertificateOf = (
  process: ProcessName,
  certificate: Pick<PeerCertificate, 'raw'> | undefined,
): boolean =>
  certificate?.raw !== undefined && new X509Certificate(certificate.raw).checkHost(process) !== undefined;
