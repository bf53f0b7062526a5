/** Prints the variables with which the product calls the sandbox at the given origin, as JSON. */
import { productEnvironment } from './providers/index.ts';

const [url = ''] = process.argv.slice(2);
process.stdout.write(JSON.stringify(productEnvironment(url)));
