import { formatIp, isLoopback } from "../../net/ip.ts";
import { parsePrefix } from "../../net/ip-prefix.ts";
import { GENERATION_SHAPES } from "./generations.ts";
import { type CaptureOptions, type CaptureSettings, isTproxy, splitList } from "./settings.ts";

/** What is wrong with the settings: errors stop the command before anything runs, warnings do not. */
export interface SettingsProblems {
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

const MAX_OWNER_GROUPS = 64;
const MODES = ["REDIRECT", "TPROXY", "NONE"];
/** Fixed in the rules of TPROXY. */
const SELF_CALL_MARK = 1338;
/** The kernel's own tables: a local default route there would swallow all traffic of the machine. */
const RESERVED_TABLES = ["0", "253", "254", "255"];

/** Every text that goes into a rule is checked, so that nothing else can reach the restore input. */
export function checkSettings(settings: CaptureSettings, options: CaptureOptions): SettingsProblems {
  const ranges = checkRanges(settings);
  return {
    errors: [
      ...checkOwnerGroups(settings),
      ...checkBinary(options.forceBinary),
      ...checkValidation(options),
      ...checkLoopback(settings.loopbackCidr),
      ...checkMode(settings.interceptionMode),
      ...checkPorts(settings),
      ...checkOwners(settings),
      ...checkInterfaces("--istio-exclude-interfaces", settings.excludeInterfaces),
      ...checkInterfaces("--kube-virt-interfaces", settings.virtualInterfaces),
      ...checkTproxy(settings),
      ...ranges.errors,
    ],
    warnings: [...ranges.warnings, ...checkDns(settings)],
  };
}

function checkOwnerGroups({ ownerGroupsInclude }: CaptureSettings): readonly string[] {
  const groups = splitList(ownerGroupsInclude);
  if (groups.length <= MAX_OWNER_GROUPS) return [];
  return [
    "number of owner groups whose outgoing traffic should be redirected to Envoy cannot exceed " +
      `${MAX_OWNER_GROUPS}, got ${groups.length}: [${groups.join(" ")}]`,
  ];
}

function checkBinary(binary: string): readonly string[] {
  if (["", "legacy", "nft"].includes(binary)) return [];
  return [`invalid FORCE_IPTABLES_BINARY value ${quote(binary)} (allowed: legacy, nft or empty)`];
}

/** Its connections are those of this process: they would prove something about another network than the one that was programmed. */
function checkValidation({ runValidation, networkNamespace }: CaptureOptions): readonly string[] {
  if (!runValidation || networkNamespace === "") return [];
  return [
    `--run-validation does not look into --network-namespace ${quote(networkNamespace)}: run it inside, with nsenter --net`,
  ];
}

function checkLoopback(cidr: string): readonly string[] {
  // The text goes into the rules as it is, so all of it has to be a prefix.
  const prefix = parsePrefix(cidr);
  if (prefix === undefined) {
    const shown = /^[\x20-\x7e]*$/.test(cidr) ? cidr : quote(cidr);
    return [`failed to parse CIDR ${shown}: expected address/length in ISTIO_OUTBOUND_IPV4_LOOPBACK_CIDR`];
  }
  const { address, bits } = prefix;
  if (address.family !== 4 || !isLoopback(address)) {
    return [`expected valid IPv4 loopback address in CIDR ${cidr}; found ${formatIp(address)}`];
  }
  return bits >= 8 ? [] : [`expected CIDR ${cidr} to have mask in range [8, 32]; found ${bits}`];
}

function checkMode(mode: string): readonly string[] {
  if (mode === "" || MODES.includes(mode)) return [];
  return [
    `invalid --istio-inbound-interception-mode (ISTIO_INBOUND_INTERCEPTION_MODE) ${quote(mode)}: ` +
      `allowed are ${MODES.join(", ")}, spelled exactly so, or empty for REDIRECT`,
  ];
}

function checkPorts(settings: CaptureSettings): readonly string[] {
  const single = [
    ["--envoy-port", settings.proxyPort],
    ["--inbound-capture-port", settings.inboundCapturePort],
    ["--inbound-tunnel-port", settings.inboundTunnelPort],
  ] as const;
  const lists = [
    ["--istio-inbound-ports", settings.inboundPortsInclude === "*" ? "" : settings.inboundPortsInclude],
    ["--istio-local-exclude-ports", settings.inboundPortsExclude],
    ["--istio-outbound-ports", settings.outboundPortsInclude],
    ["--istio-local-outbound-ports-exclude", settings.outboundPortsExclude],
  ] as const;
  return [
    ...single
      .filter(([, text]) => !isPort(text) || Number(text) === 0)
      .map(
        ([flag, text]) =>
          `invalid port ${quote(text)} in ${flag} (${envName(flag)}): expected a number from 1 to 65535`,
      ),
    ...lists.flatMap(([flag, text]) =>
      splitList(text)
        .filter((port) => !isPortOrRange(port))
        .map(
          (port) =>
            `invalid port ${quote(port)} in ${flag} (${envName(flag)}): expected numbers from 0 to 65535 or ranges ` +
            `like 8000:8100, separated by commas${flag === "--istio-inbound-ports" ? ", or * alone" : ""}`,
        ),
    ),
  ];
}

function checkOwners(settings: CaptureSettings): readonly string[] {
  const lists = [
    ["--proxy-uid (PROXY_UID)", settings.proxyUid],
    ["--proxy-gid (PROXY_GID)", settings.proxyGid],
    ["ISTIO_OUTBOUND_OWNER_GROUPS", settings.ownerGroupsInclude === "*" ? "" : settings.ownerGroupsInclude],
    ["ISTIO_OUTBOUND_OWNER_GROUPS_EXCLUDE", settings.ownerGroupsExclude],
  ] as const;
  // A text that is there but names no user or group would mean: no process is the proxy, or none is captured.
  const empty = lists.slice(0, 3).filter(([, text]) => text !== "" && splitList(text).length === 0);
  return [
    ...empty.map(
      ([source, text]) => `${quote(text)} in ${source} names no user or group: expected at least one id or name`,
    ),
    ...wrongOwners(lists),
  ];
}

function wrongOwners(lists: readonly (readonly [source: string, text: string])[]): readonly string[] {
  return lists.flatMap(([source, text]) =>
    splitList(text)
      .filter((id) => !isOwner(id))
      .map(
        (id) =>
          `invalid id ${quote(id)} in ${source}: expected numbers from 0 to 4294967294 without leading zeros or names, ` +
          "separated by commas",
      ),
  );
}

function checkInterfaces(flag: string, text: string): readonly string[] {
  return splitList(text)
    .filter((name) => !/^[A-Za-z0-9_][A-Za-z0-9_.:@-]{0,14}\+?$/.test(name) || name.length > 15)
    .map(
      (name) =>
        `invalid interface name ${quote(name)} in ${flag} (${envName(flag)}): expected at most 15 letters, digits ` +
        "or _ . : @ -, optionally ending in + for all names that start so",
    );
}

function checkTproxy(settings: CaptureSettings): readonly string[] {
  const mark = Number(settings.tproxyMark);
  const table = settings.tproxyRouteTable;
  const errors: string[] = [];
  if (!/^([1-9]\d*|0x[0-9a-fA-F]+)$/.test(settings.tproxyMark) || mark < 1 || mark > 0xffffffff) {
    errors.push(
      `invalid mark ${quote(settings.tproxyMark)} in --istio-inbound-tproxy-mark (ISTIO_INBOUND_TPROXY_MARK): ` +
        "expected a number from 1 to 4294967295, decimal or 0x...",
    );
  }
  if (isTproxy(settings) && mark === SELF_CALL_MARK) {
    errors.push(
      `invalid mark ${quote(settings.tproxyMark)} in --istio-inbound-tproxy-mark (ISTIO_INBOUND_TPROXY_MARK): ` +
        `${SELF_CALL_MARK} is the mark of the proxy's calls to its own pod`,
    );
  }
  if (!/^(0|[1-9]\d*)$/.test(table) || Number(table) > 0xffffffff || RESERVED_TABLES.includes(String(Number(table)))) {
    errors.push(
      `invalid route table ${quote(table)} in --istio-inbound-tproxy-route-table (ISTIO_INBOUND_TPROXY_ROUTE_TABLE): ` +
        "expected a number from 1 to 4294967295 other than 253, 254 and 255",
    );
  }
  return errors;
}

function checkRanges(settings: CaptureSettings): SettingsProblems {
  if (settings.outboundIpRangesExclude === "*") {
    return { errors: ["invalid value for OUTBOUND_IP_RANGES_EXCLUDE: * would exclude everything"], warnings: [] };
  }
  const lists = [
    ["--istio-service-cidr", settings.outboundIpRangesInclude === "*" ? "" : settings.outboundIpRangesInclude],
    ["--istio-service-exclude-cidr", settings.outboundIpRangesExclude],
  ] as const;
  const bad = lists.flatMap(([flag, text]) =>
    splitList(text)
      .filter((range) => parsePrefix(range) === undefined)
      .map((range) => ({ flag, range })),
  );
  if (GENERATION_SHAPES[settings.generation].skipsInvalidRanges) {
    // Older generations skipped such entries, and deployments of that time rely on it.
    const text = "Ignoring error for bug compatibility with istio-iptables: invalid CIDR";
    return { errors: [], warnings: bad.map(({ flag, range }) => `${text} ${quote(range)} in ${flag}`) };
  }
  return {
    errors: bad.map(
      ({ flag, range }) =>
        `invalid CIDR ${quote(range)} in ${flag} (${envName(flag)}): expected address/length, separated by commas` +
        `${range === "*" || flag === "--istio-service-cidr" ? ", or * alone" : ""}`,
    ),
    warnings: [],
  };
}

function checkDns({ redirectDns, captureAllDns, dnsServersV4, dnsServersV6 }: CaptureSettings): readonly string[] {
  if (!redirectDns || captureAllDns || dnsServersV4.length > 0 || dnsServersV6.length > 0) return [];
  return ["REDIRECT_DNS is set, but CAPTURE_ALL_DNS is false, and no DNS servers provided. DNS capture disabled."];
}

/** Programs read a leading zero as the sign of an octal number: 010 would be port 8. */
function isPort(text: string): boolean {
  return /^(0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65535;
}

function isPortOrRange(text: string): boolean {
  const [first = "", last, ...more] = text.split(":");
  if (last === undefined) return isPort(first);
  return more.length === 0 && isPort(first) && isPort(last) && Number(first) <= Number(last);
}

function isOwner(id: string): boolean {
  if (/^\d+$/.test(id)) return (id === "0" || !id.startsWith("0")) && Number(id) < 0xffffffff;
  return /^[A-Za-z_][A-Za-z0-9_.-]{0,31}\$?$/.test(id);
}

function envName(flag: string): string {
  return flag.replace(/^--/, "").replaceAll("-", "_").toUpperCase();
}

function quote(text: string): string {
  return JSON.stringify(text);
}
