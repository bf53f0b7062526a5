import { ConfigError, loadConfig } from './config.ts';
import { startSandbox } from './service.ts';

try {
  const sandbox = await startSandbox(loadConfig());
  const stop = () => void sandbox.close().then(() => process.exit(0));
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
} catch (error) {
  process.stderr.write(`sandbox: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(error instanceof ConfigError ? 78 : 1);
}
