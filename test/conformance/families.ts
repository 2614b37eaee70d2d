import { bootstrap } from "./bootstrap.ts";
import { discovery } from "./discovery/discovery.ts";
import type { ConformanceFamily } from "./family.ts";
import { inject } from "./inject/inject.ts";
import { iptables } from "./iptables.ts";
import { kubernetes } from "./kubernetes/kubernetes.ts";
import { nftables } from "./nftables.ts";

/** Every family of golden cases; the test suite and `npm run conformance` know no others. */
export const FAMILIES: readonly ConformanceFamily[] = [bootstrap, discovery, inject, iptables, kubernetes, nftables];
