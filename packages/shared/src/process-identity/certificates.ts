/**
 * A certificate authority of the product and a certificate for each process, for one machine: Kubernetes has cert-manager. In a
 * directory: `authority/` for this program alone, `private/<process>/` for one process.
 */
// The X.509 library requires this import, and requires it first.
import 'reflect-metadata';

import { randomBytes, webcrypto, X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  BasicConstraintsExtension,
  cryptoProvider,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { DAY_MS, systemClock } from '../kernel/clock.ts';
import { PROCESSES, type ProcessName } from '../kernel/process-name.ts';
import { TLS_FILES } from './process-tls.ts';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const AUTHORITY_DAYS = 3_650;
const CERTIFICATE_DAYS = 365;
/** A certificate that expires sooner is renewed. */
const RENEW_DAYS = 120;
/** Backdating of certificates, for clock differences. */
const EARLIER_MS = DAY_MS;

interface Authority {
  /** PEM */
  certificate: string;
  key: webcrypto.CryptoKey;
}

/** The variable of one process, for certificates that were made in `directory`. */
export const tlsDirectory = (directory: string, process: ProcessName): string =>
  join(directory, 'private', process);

/** Makes the certificates that are missing or expire soon. Returns the processes with a new one. */
export const createMissingCertificates = async (
  directory: string,
  now = systemClock.now(),
): Promise<ProcessName[]> => {
  cryptoProvider.set(webcrypto as never);
  const authority = await openAuthority(join(directory, 'authority'), now);
  const made: ProcessName[] = [];
  for (const process of PROCESSES) {
    const own = tlsDirectory(directory, process);
    if (isUsable(own, authority, now)) continue;
    await certify(own, process, authority, now);
    made.push(process);
  }
  return made;
};

const openAuthority = async (directory: string, now: Date): Promise<Authority> => {
  const files = { certificate: join(directory, TLS_FILES.ca), key: join(directory, 'ca.key') };
  if (!existsSync(files.certificate)) await createAuthority(files, now);
  const [key = new ArrayBuffer()] = PemConverter.decode(readFileSync(files.key, 'utf8'));
  return {
    certificate: readFileSync(files.certificate, 'utf8'),
    key: await webcrypto.subtle.importKey('pkcs8', key, ALGORITHM, false, ['sign']),
  };
};

const createAuthority = async (files: { certificate: string; key: string }, now: Date): Promise<void> => {
  const keys = await generateKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=fitness-platform',
    keys: keys as never,
    ...termsOf(now, AUTHORITY_DAYS),
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true),
    ],
  });
  write(files.key, await exportKey(keys.privateKey));
  // This is written last: its presence means that the authority is complete.
  write(files.certificate, certificate.toString('pem'));
};

const certify = async (
  directory: string,
  process: ProcessName,
  authority: Authority,
  now: Date,
): Promise<void> => {
  const keys = await generateKeys();
  const certificate = await X509CertificateGenerator.create({
    subject: `CN=${process}`,
    issuer: 'CN=fitness-platform',
    publicKey: keys.publicKey as never,
    signingKey: authority.key as never,
    ...termsOf(now, CERTIFICATE_DAYS),
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
      new SubjectAlternativeNameExtension([{ type: 'dns', value: process }]),
    ],
  });
  write(join(directory, TLS_FILES.ca), authority.certificate);
  write(join(directory, TLS_FILES.key), await exportKey(keys.privateKey));
  write(join(directory, TLS_FILES.cert), certificate.toString('pem'));
};

const isUsable = (directory: string, authority: Authority, now: Date): boolean => {
  try {
    const certificate = new X509Certificate(readFileSync(join(directory, TLS_FILES.cert)));
    const endsAt = new Date(certificate.validTo).getTime();
    const isOurs = certificate.verify(new X509Certificate(authority.certificate).publicKey);
    return isOurs && endsAt > now.getTime() + RENEW_DAYS * DAY_MS;
  } catch {
    return false;
  }
};

const termsOf = (now: Date, days: number) => ({
  serialNumber: randomBytes(16).toString('hex'),
  signingAlgorithm: ALGORITHM,
  notBefore: new Date(now.getTime() - EARLIER_MS),
  notAfter: new Date(now.getTime() + days * DAY_MS),
});

const generateKeys = (): Promise<webcrypto.CryptoKeyPair> =>
  webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>;

const exportKey = async (key: webcrypto.CryptoKey): Promise<string> =>
  PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');

const write = (file: string, pem: string): void => {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(`${file}.new`, `${pem.trimEnd()}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
};
