import { errorText, type HttpHandler } from "../net/http-server/http-types.ts";
import { plainText } from "./endpoints.ts";
import type { StatusRoutes } from "./status-routes.ts";

const PAGES = {
  cmdline: "the command line, its words separated by NUL",
  symbol: "for pprof clients: profiles carry their names themselves",
  profile: "CPU profile, on the unix socket of PROFILING_SOCKET only",
  heap: "heap snapshot, on the unix socket of PROFILING_SOCKET only",
} as const;

/**
 * `/debug/pprof/` on the status port: what every user of the machine may see. A heap snapshot holds the workload's private key and its
 * token, and loopback says nothing about who asks: those are served on a socket file that only root and the agent's user can open.
 */
export function registerProcessPages(routes: Pick<StatusRoutes, "route">, profilingSocket: string): void {
  const add = (page: string, handler: HttpHandler) =>
    routes.route("*", `/debug/pprof/${page}`, handler, { localOnly: true });
  add("", ({ path }) => {
    if (path !== "/debug/pprof/") return errorText(404, "404 page not found");
    const lines = Object.entries(PAGES).map(([name, about]) => `/debug/pprof/${name}\t${about}\n`);
    return plainText(lines.join(""));
  });
  // No flag takes a secret. /proc has the process's title instead.
  add("cmdline", () => plainText([process.execPath, ...process.execArgv, ...process.argv.slice(1)].join("\0")));
  add("symbol", () => ({ status: 200, body: "num_symbols: 0\n" }));
  const refuseProfile: HttpHandler = ({ path }) => errorText(403, whereProfilesAre(path, profilingSocket));
  add("profile", refuseProfile);
  add("heap", refuseProfile);
}

function whereProfilesAre(path: string, socket: string): string {
  const why = "profiles can hold the workload's private key and tokens and are not served on this port";
  const how = (file: string) =>
    `as root or the agent's user: curl --unix-socket ${file} -o profile.json http://localhost${path}`;
  return socket === ""
    ? `${why}; start the agent with PROFILING_SOCKET=/path/of/a/socket, then ${how("/path/of/a/socket")}`
    : `${why}; ${how(socket)}`;
}
