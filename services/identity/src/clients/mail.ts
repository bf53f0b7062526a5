/** Emails through SMTP. */

import { createCircuitBreaker } from '@fitness/shared/kernel/circuit-breaker.ts';
import { scaledDeadline } from '@fitness/shared/kernel/config.ts';
import type { Metrics } from '@fitness/shared/kernel/metrics.ts';
import { createTransport } from 'nodemailer';

interface Mail {
  to: string;
  subject: string;
  text: string;
  html: string;
  /** Unique for each mail, and the same for every attempt to send it. Letters, digits and hyphens. */
  id: string;
}

/**
 * `sent`: the relay has accepted the mail. `refused`: the relay refuses this recipient permanently. `failed`: it may or may
 * not have been sent; `reason` contains no personal data.
 */
type MailOutcome = { outcome: 'sent' | 'refused' } | { outcome: 'failed'; reason: string };

export interface MailSender {
  /** Never rejects. */
  send(mail: Mail): Promise<MailOutcome>;
  close(): void;
}

export interface SmtpOptions {
  /** `smtp://user:password@host:587` (STARTTLS) or `smtps://…` (TLS from the first byte). */
  url: string;
  /** The From header. */
  from: string;
  /** Limits connecting, and waiting for each response of the relay. */
  timeoutMs: number;
  /** Whether a relay without STARTTLS is refused. */
  requireTls: boolean;
}

const BREAKER_RESET_MS = 2_000;
const PERMANENT = 500;

interface SmtpError extends Error {
  code?: string;
  command?: string;
  responseCode?: number;
}

export const createMail = (
  { url, from, timeoutMs, requireTls }: SmtpOptions,
  { metrics }: { metrics: Metrics },
): MailSender => {
  const { protocol, hostname, port, username, password } = new URL(url);
  const secure = protocol === 'smtps:';
  const transport = createTransport({
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port) || (secure ? 465 : 587),
    secure,
    requireTLS: requireTls && !secure,
    ...(username === ''
      ? {}
      : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    pool: true,
    connectionTimeout: scaledDeadline(timeoutMs),
    greetingTimeout: scaledDeadline(timeoutMs),
    socketTimeout: scaledDeadline(timeoutMs),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const domain = /@([^>\s]+)/.exec(from)?.[1] ?? 'localhost';
  const breaker = createCircuitBreaker(
    ({ to, subject, text, html, id }: Mail) =>
      metrics.measureProvider(
        'smtp',
        () =>
          transport.sendMail({
            from,
            to: { name: '', address: to },
            subject,
            text,
            html,
            messageId: `<${id}@${domain}>`,
            headers: { 'auto-submitted': 'auto-generated' },
          }),
        isRefused,
      ),
    { target: 'smtp', metrics, resetTimeoutMs: BREAKER_RESET_MS, isRefusal: isRefused },
  );
  return {
    send: async (mail) => {
      try {
        await breaker.fire(mail);
        return { outcome: 'sent' };
      } catch (error) {
        return isRefused(error) ? { outcome: 'refused' } : { outcome: 'failed', reason: reasonOf(error) };
      }
    },
    close: () => {
      breaker.shutdown();
      transport.close();
    },
  };
};

const isRefused = (error: unknown): boolean => {
  const { command, responseCode = 0 } = error as SmtpError;
  return command === 'RCPT TO' && responseCode >= PERMANENT;
};

/** Omits the message, because relays repeat the address in it. */
const reasonOf = (error: unknown): string => {
  const { code, command, responseCode } = error as SmtpError;
  const parts = [code, command?.split(' ')[0], responseCode].filter((part) => part !== undefined);
  return `the email relay failed: ${parts.join(' ') || 'unknown'}`;
};
