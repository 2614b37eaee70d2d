import { errorMessage } from "../base/coded-error.ts";
import { joinHostPort } from "../net/host-port.ts";
import { httpRequest } from "../net/http-client/http-request.ts";
import { type AgentSample, SAMPLE_PATH } from "./agent-pages.ts";
import { statsOfScrape } from "./core/prometheus-stats.ts";
import type { AgentAccess } from "./sources.ts";

/** An agent on another machine: what its status port shows to everybody, readiness and merged metrics. */
export function createScrapeAccess(address: string, statusPort: number, version: string): AgentAccess {
  const base = `http://${joinHostPort(address, statusPort)}`;
  const elsewhere = {
    status: 404,
    body: "only the agent's own machine can see this: pilot-agent proxy --console there",
  };
  return {
    async get(path, { timeoutMs, maxBytes }) {
      if (path !== SAMPLE_PATH) return elsewhere;
      const ask = (page: string) => httpRequest({ url: `${base}${page}`, timeoutMs, maxBytes });
      const [ready, scrape] = await Promise.allSettled([ask("/healthz/ready"), ask("/stats/prometheus")]);
      if (ready.status === "rejected") throw new Error(`${base} does not answer: ${errorMessage(ready.reason)}`);
      const isScraped = scrape.status === "fulfilled" && scrape.value.status === 200;
      const agent: AgentSample = {
        version,
        reasons: ready.value.status === 200 ? [] : ready.value.body.trim().split("\n").slice(0, 5),
        notes: [],
        ...(isScraped
          ? {}
          : {
              statsProblem:
                scrape.status === "rejected" ? errorMessage(scrape.reason) : `status ${scrape.value.status}`,
            }),
      };
      return {
        status: 200,
        body: JSON.stringify({ agent, stats: isScraped ? statsOfScrape(scrape.value.body) : null }),
      };
    },
    post: async () => elsewhere,
  };
}
