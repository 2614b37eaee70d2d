import { analyzers } from "./analyze.ts";
import { bootstrap } from "./bootstrap.ts";
import { discovery } from "./discovery/discovery.ts";
import type { ConformanceFamily } from "./family.ts";
import { inject } from "./inject/inject.ts";
import { iptables } from "./iptables.ts";
import { kubernetes } from "./kubernetes/kubernetes.ts";
import { nftables } from "./nftables.ts";

/** Every family of golden cases of the test suite. */
export const FAMILIES: readonly ConformanceFamily[] = [bootstrap, discovery, inject, iptables, kubernetes, nftables];

/** With those whose cases come from elsewhere: `npm run conformance -- FAMILY DIR` alone runs them. */
export const ALL_FAMILIES: readonly ConformanceFamily[] = [...FAMILIES, analyzers];
