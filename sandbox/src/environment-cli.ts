/** Prints the variables with which the product calls the sandbox at the given origin and SMTP port, as JSON. */
import { productEnvironment } from './providers/index.ts';

const [url = '', smtpPort] = process.argv.slice(2);
process.stdout.write(
  JSON.stringify(productEnvironment(url, smtpPort === undefined ? undefined : Number(smtpPort))),
);
