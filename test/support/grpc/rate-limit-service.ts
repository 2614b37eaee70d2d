import { silentLogger } from "../../../src/base/logger.ts";
import { defineMethod } from "../../../src/grpc/method.ts";
import { implement } from "../../../src/grpc/server/server-types.ts";
import { startGrpcServer } from "../../../src/grpc/server/start-grpc-server.ts";
import { message, repeated, string, uint32 } from "../../../src/protobuf/wire/message.ts";

const entry = message({ key: string(1), value: string(2) });
const descriptor = message({ entries: repeated(1, entry) });
const request = message({ domain: string(1), descriptors: repeated(2, descriptor), hitsAddend: uint32(3) });
const response = message({ overallCode: uint32(1) });
const SHOULD_RATE_LIMIT = defineMethod({
  path: "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
  kind: "unary",
  request,
  response,
});
const OK = 1;
const OVER_LIMIT = 2;

export interface RateLimitService extends AsyncDisposable {
  readonly port: number;
  /** `domain key=value,...` of every question. */
  readonly asked: readonly string[];
}

/** Envoy's rate limit API (v3): of each descriptor so many requests are allowed, of others any number. Counts for ever. */
export async function startRateLimitService(allowed: Readonly<Record<string, number>>): Promise<RateLimitService> {
  const asked: string[] = [];
  const counts = new Map<string, number>();
  const server = await startGrpcServer({
    listen: { host: "127.0.0.1", port: 0 },
    log: silentLogger,
    methods: [
      implement(SHOULD_RATE_LIMIT, ({ domain, descriptors = [] }) => {
        const keys = descriptors.map(({ entries = [] }) =>
          entries.map(({ key, value }) => `${key}=${value}`).join(","),
        );
        asked.push(`${domain} ${keys.join(" ")}`);
        for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
        const isOver = keys.some((key) => (counts.get(key) ?? 0) > (allowed[key] ?? Number.POSITIVE_INFINITY));
        return { overallCode: isOver ? OVER_LIMIT : OK };
      }),
    ],
  });
  const { address } = server;
  return {
    port: "port" in address ? address.port : 0,
    asked,
    [Symbol.asyncDispose]: () => server.stop(),
  };
}
