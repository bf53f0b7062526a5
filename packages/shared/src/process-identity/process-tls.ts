/**
 * Mutual TLS between the processes (docs/adr/0053). Both sides have a certificate from the product's authority. Its DNS name is
 * the name of the process, whatever address the process is reached at.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PeerCertificate } from 'node:tls';
import { SECOND_MS } from '../kernel/clock.ts';
import { ConfigError } from '../kernel/config.ts';
import type { Metrics } from '../kernel/metrics.ts';
import type { ProcessName } from '../kernel/process-name.ts';

export interface TlsFiles {
  cert: Buffer;
  key: Buffer;
  /** The certificate of the authority. */
  ca: Buffer;
}

/** The certificate of a process. Its files are read again while the process runs, as those of its keys are. */
export interface ProcessTls {
  /** For new connections. */
  current(): TlsFiles;
  /** Calls `listener` after each change of the files, until the returned function is called. */
  onRenewal(listener: (files: TlsFiles) => void): () => void;
}

/** How soon new files are used. */
export const TLS_CHECK_MS = 10 * SECOND_MS;

/** In `TLS_DIRECTORY`; the names that Kubernetes and cert-manager use. */
export const TLS_FILES = { cert: 'tls.crt', key: 'tls.key', ca: 'ca.crt' } as const;
const NAMES = ['cert', 'key', 'ca'] as const;

interface ProcessTlsOptions {
  process: ProcessName;
  /** `TLS_DIRECTORY` */
  directory: string | undefined;
  metrics: Pick<Metrics, 'certificateEnd'>;
  /** Called once per reason when the files cannot be used. Files that were read before stay in use. */
  onProblem: (problem: Error) => void;
  checkMs?: number | undefined;
}

/** Undefined without `TLS_DIRECTORY`. Throws ConfigError for files that cannot be used. */
export const openProcessTls = ({
  process,
  directory,
  metrics,
  onProblem,
  checkMs = TLS_CHECK_MS,
}: ProcessTlsOptions): (ProcessTls & { close(): void }) | undefined => {
  if (directory === undefined) return undefined;
  let files: TlsFiles;
  try {
    files = readTlsFiles(process, directory);
  } catch (error) {
    throw new ConfigError(`Wrong configuration: TLS_DIRECTORY: ${(error as Error).message}`);
  }
  showEnds(files, metrics);
  const listeners = new Set<(files: TlsFiles) => void>();
  let lastProblem: string | undefined;
  const check = (): void => {
    try {
      const renewed = readTlsFiles(process, directory);
      lastProblem = undefined;
      if (NAMES.every((name) => renewed[name].equals(files[name]))) return;
      files = renewed;
      showEnds(files, metrics);
      for (const listener of listeners) listener(files);
    } catch (error) {
      // This happens between the replacement of the first and the last file, too.
      const { message } = error as Error;
      if (message !== lastProblem) onProblem(error as Error);
      lastProblem = message;
    }
  };
  const timer = setInterval(check, checkMs).unref();
  return {
    current: () => files,
    onRenewal: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: () => clearInterval(timer),
  };
};

/** Throws for files that do not belong to each other or to the process. */
export const readTlsFiles = (process: ProcessName, directory: string): TlsFiles => {
  const read = (name: string): Buffer => readFileSync(join(directory, name));
  const files = { cert: read(TLS_FILES.cert), key: read(TLS_FILES.key), ca: read(TLS_FILES.ca) };
  const certificate = new X509Certificate(files.cert);
  if (certificate.checkHost(process) === undefined) throw new Error(`its certificate is not for ${process}`);
  if (!certificate.checkPrivateKey(createPrivateKey(files.key)))
    throw new Error(`${TLS_FILES.key} is not the key of the certificate`);
  certificatesIn(files.ca);
  return files;
};

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** The certificates in a file, which has several while an authority is replaced. */
const certificatesIn = (pem: Buffer): X509Certificate[] => {
  const certificates = (pem.toString('latin1').match(PEM_CERTIFICATE) ?? []).map(
    (text) => new X509Certificate(text),
  );
  if (certificates.length === 0) throw new Error(`${TLS_FILES.ca} has no certificate`);
  return certificates;
};

const showEnds = ({ cert, ca }: TlsFiles, metrics: Pick<Metrics, 'certificateEnd'>): void => {
  const endOf = ({ validTo }: X509Certificate): number => new Date(validTo).getTime() / SECOND_MS;
  metrics.certificateEnd.set({ certificate: 'process' }, endOf(new X509Certificate(cert)));
  metrics.certificateEnd.set({ certificate: 'authority' }, Math.min(...certificatesIn(ca).map(endOf)));
};

/** `certificate`: verified against the authority. */
export const isCertificateOf = (
  process: ProcessName,
  certificate: Pick<PeerCertificate, 'raw'> | undefined,
): boolean =>
  certificate?.raw !== undefined && new X509Certificate(certificate.raw).checkHost(process) !== undefined;
