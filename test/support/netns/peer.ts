import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Netns } from "./netns.ts";

/** What a listener saw of a connection, sent to the client over the connection itself. */
export interface Seen {
  /** Port of the listener. */
  readonly port: number;
  readonly peer: readonly [address: string, port: number];
  readonly local: readonly [address: string, port: number];
  /** Destination before the kernel rewrote it; absent without a translation. */
  readonly original?: readonly [address: string, port: number];
}

export interface ConnectCall {
  readonly protocol?: "tcp" | "udp";
  readonly to: readonly [address: string, port: number];
  readonly uid?: number;
  readonly gid?: number;
  readonly from?: string;
}

/** A helper inside a namespace that listens and connects as any user. */
export interface NetnsPeer extends AsyncDisposable {
  listen(options: {
    protocol?: "tcp" | "udp";
    address: string;
    port: number;
    uid?: number;
    isTransparent?: boolean;
  }): Promise<void>;
  /** What the listener at the other end saw, or the error text. */
  connect(call: ConnectCall): Promise<Seen | string>;
}

export async function startNetnsPeer(netns: Netns): Promise<NetnsPeer> {
  const child = netns.spawn("python3", ["-u", "-c", SOURCE]);
  const lines = createInterface({ input: child.stdout ?? process.stdin })[Symbol.asyncIterator]();
  const said: string[] = [];
  child.stderr?.on("data", (chunk: Buffer) => said.push(chunk.toString()));
  let last: Promise<unknown> = Promise.resolve();
  const ask = (request: unknown): Promise<unknown> => {
    const answer = last.then(async () => {
      child.stdin?.write(`${JSON.stringify(request)}\n`);
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`the helper in ${netns.name} ended: ${said.join("")}`);
      return JSON.parse(value) as unknown;
    });
    last = answer.catch(() => undefined);
    return answer;
  };
  return {
    listen: async (options) => {
      const problem = await ask({ op: "listen", protocol: "tcp", uid: 0, isTransparent: false, ...options });
      if (problem !== "ok") throw new Error(`cannot listen: ${problem}`);
    },
    connect: async (call) =>
      (await ask({ op: "connect", protocol: "tcp", uid: 1000, ...call, gid: call.gid ?? call.uid ?? 1000 })) as
        | Seen
        | string,
    [Symbol.asyncDispose]: () => end(child),
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const closed = once(child, "close");
  child.stdin?.end();
  await closed;
}

/** Listeners and clients are processes of their own, so that each can have its own user. All end with the helper. */
const SOURCE = `
import json, os, signal, socket, struct, sys

SO_ORIGINAL_DST, IP_TRANSPARENT, IPV6_TRANSPARENT = 80, 19, 75
children = []

def become(uid, gid):
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)

def family_of(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET

def original(sock):
    try:
        if sock.family == socket.AF_INET6:
            raw = sock.getsockopt(41, SO_ORIGINAL_DST, 28)
            return [socket.inet_ntop(socket.AF_INET6, raw[8:24]), struct.unpack("!H", raw[2:4])[0]]
        raw = sock.getsockopt(socket.SOL_IP, SO_ORIGINAL_DST, 16)
        return [socket.inet_ntop(socket.AF_INET, raw[4:8]), struct.unpack("!H", raw[2:4])[0]]
    except OSError:
        return None

def serve_tcp(listener, port):
    while True:
        sock, peer = listener.accept()
        seen = {"port": port, "peer": list(peer[:2]), "local": list(sock.getsockname()[:2]), "original": original(sock)}
        try:
            sock.sendall(json.dumps(seen).encode() + b"\\n")
        except OSError:
            pass
        sock.close()

def serve_udp(sock, port):
    while True:
        _, peer = sock.recvfrom(2048)
        seen = {"port": port, "peer": list(peer[:2]), "local": list(sock.getsockname()[:2])}
        sock.sendto(json.dumps(seen).encode(), peer)

def listen(request):
    tcp = request["protocol"] == "tcp"
    family = family_of(request["address"])
    sock = socket.socket(family, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    if request["isTransparent"]:
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, IPV6_TRANSPARENT, 1)
        else:
            sock.setsockopt(socket.SOL_IP, IP_TRANSPARENT, 1)
    if tcp:
        sock.bind((request["address"], request["port"]))
        sock.listen(64)
    ready, bound = os.pipe()
    pid = os.fork()
    if pid == 0:
        if request["uid"] != 0:
            become(request["uid"], request["uid"])
        if not tcp:
            # The owner of a socket is who made it, and the rules ask for the owner of the answers.
            sock = socket.socket(family, socket.SOCK_DGRAM)
            if family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            sock.bind((request["address"], request["port"]))
        os.write(bound, b"1")
        (serve_tcp if tcp else serve_udp)(sock, request["port"])
    children.append(pid)
    os.read(ready, 1)
    os.close(ready)
    os.close(bound)
    return "ok"

def connect(request):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            become(request["uid"], request["gid"])
            tcp = request["protocol"] == "tcp"
            address, port = request["to"]
            sock = socket.socket(family_of(address), socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM)
            sock.settimeout(20.0)
            if request.get("from"):
                sock.bind((request["from"], 0))
            sock.connect((address, port))
            if not tcp:
                sock.send(b"query")
            answer = sock.recv(4096).decode() or json.dumps("closed without a word")
        except OSError as error:
            answer = json.dumps(type(error).__name__ + ": " + str(error))
        os.write(write, answer.encode())
        os._exit(0)
    os.close(write)
    answer = b""
    while True:
        chunk = os.read(read, 4096)
        if not chunk:
            break
        answer += chunk
    os.close(read)
    os.waitpid(pid, 0)
    return json.loads(answer)

for line in sys.stdin:
    request = json.loads(line)
    try:
        result = listen(request) if request["op"] == "listen" else connect(request)
    except OSError as error:
        result = type(error).__name__ + ": " + str(error)
    print(json.dumps(result), flush=True)
for pid in children:
    os.kill(pid, signal.SIGKILL)
`;
