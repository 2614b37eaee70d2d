/**
 * A stand-in for cluster DNS: answers NAME.NAMESPACE.svc.cluster.local from the API server, and says that nothing else exists.
 *   node cluster-dns.mjs ADDRESS FOLDER-OF-THE-CLUSTER
 */
import { createSocket } from "node:dgram";
import { createServer } from "node:net";
import { FLAG_AA, FLAG_QR, FLAG_RD, HEADER_BYTES, RCODE, RECORD_TYPE } from "../../../../src/protocol/dns/constants.ts";
import { createQueryView, readQuery } from "../../../../src/protocol/dns/query.ts";
import { openClusterApi } from "../api-connection.ts";

const [, , address = "", folder = ""] = process.argv;
const TTL_SECONDS = 5;
const SUFFIX = ".svc.cluster.local.";
const view = createQueryView();
const api = openClusterApi(folder);

/** Undefined when there is no such name. */
async function addressesOf(name: string): Promise<string[] | undefined> {
  if (!name.endsWith(SUFFIX)) return undefined;
  const [namespace = "", service = "", ...hosts] = name.slice(0, -SUFFIX.length).split(".").reverse();
  if (!/^[a-z0-9-]+$/.test(namespace) || !/^[a-z0-9-]+$/.test(service) || hosts.length > 1) return undefined;
  const { status, body } = await api.ask({ path: `/api/v1/namespaces/${namespace}/services/${service}` });
  if (status !== 200) return undefined;
  const { spec } = JSON.parse(body) as { spec: { clusterIP?: string } };
  if (spec.clusterIP !== "None") return spec.clusterIP === undefined || hosts.length > 0 ? [] : [spec.clusterIP];
  const selector = encodeURIComponent(`kubernetes.io/service-name=${service}`);
  const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?labelSelector=${selector}`;
  const { items } = (await api.json({ path })) as unknown as { items: { endpoints?: Endpoint[] }[] };
  const ready = items
    .flatMap(({ endpoints = [] }) => endpoints)
    .filter(({ conditions }) => conditions?.ready !== false);
  const [host] = hosts;
  return ready.filter(({ hostname: own }) => host === undefined || own === host).flatMap(({ addresses }) => addresses);
}

interface Endpoint {
  readonly addresses: readonly string[];
  readonly hostname?: string;
  readonly conditions?: { readonly ready?: boolean };
}

async function reply(query: Buffer): Promise<Buffer | undefined> {
  if (readQuery(query, view) !== "query") return undefined;
  const { name, type, questionEnd } = view;
  const question = query.subarray(HEADER_BYTES, questionEnd);
  const found = await addressesOf(name).catch(() => "failed" as const);
  const code = found === "failed" ? RCODE.SERVFAIL : found === undefined ? RCODE.NXDOMAIN : RCODE.NOERROR;
  const addresses = Array.isArray(found) && type === RECORD_TYPE.A ? found : [];
  const header = Buffer.alloc(HEADER_BYTES);
  query.copy(header, 0, 0, 2);
  header[2] = FLAG_QR | FLAG_AA | ((query[2] ?? 0) & FLAG_RD);
  header[3] = code;
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(addresses.length, 6);
  const answers = addresses.map((ip) => {
    const record = Buffer.alloc(16);
    // The owner is the name of the question.
    record.writeUInt16BE(0xc000 | HEADER_BYTES, 0);
    record.writeUInt16BE(RECORD_TYPE.A, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt32BE(TTL_SECONDS, 6);
    record.writeUInt16BE(4, 10);
    Buffer.from(ip.split(".").map(Number)).copy(record, 12);
    return record;
  });
  return Buffer.concat([header, question, ...answers]);
}

const udp = createSocket("udp4");
udp.on("message", async (query, { address: from, port: to }) => {
  const answer = await reply(query);
  if (answer !== undefined) udp.send(answer, to, from);
});
udp.bind(53, address);

createServer((socket) => {
  let buffered = Buffer.alloc(0);
  socket.on("error", () => socket.destroy());
  socket.on("data", async (chunk) => {
    buffered = Buffer.concat([buffered, chunk]);
    while (buffered.length >= 2 && buffered.length >= 2 + buffered.readUInt16BE(0)) {
      const end = 2 + buffered.readUInt16BE(0);
      const query = buffered.subarray(2, end);
      buffered = buffered.subarray(end);
      const answer = await reply(query);
      if (answer === undefined) return void socket.destroy();
      const length = Buffer.alloc(2);
      length.writeUInt16BE(answer.length);
      socket.write(Buffer.concat([length, answer]));
    }
  });
}).listen(53, address);
