export interface StackPart {
  httpPort: number;
  grpcPort?: number;
  /** `http://127.0.0.1:port` */
  url: string;
  /** Of the gateway: metrics and the health of all services. */
  operationsUrl?: string;
  tier: 'gateway' | 'service';
  pid: number;
  logFile: string;
  environment: Record<string, string>;
}

export interface StackDescription {
  controlUrl: string;
  /** By name: `gateway`, `sandbox`, `identity`, `wallet`, `gyms`, `content`, `media`, `store-billing`. */
  parts: Record<string, StackPart>;
  servers: { MONGODB_URI: string; REDIS_URL: string; AMQP_URL: string };
}

/** A part of the product, or `mongodb`, `redis`, `rabbitmq` where they were started here. */
export interface StackClient {
  /** Read at each call: a restarted part has another process id. */
  describe(): StackDescription;
  part(name: string): StackPart;
  /** SIGTERM: current requests are finished. Resolves when the process has ended. */
  stop(name: string): Promise<void>;
  /** SIGKILL. */
  kill(name: string): Promise<void>;
  /** Resolves when it is ready. Does nothing when it runs. `environment` counts for this start only. */
  start(name: string, environment?: Record<string, string>): Promise<void>;
  restart(name: string, environment?: Record<string, string>): Promise<void>;
}

/** `file` is what `E2E_STACK` names, unless given. */
export function connectStack(file?: string): StackClient;
