/** Two small workloads: `web` passes the answer of `hello` on. */
export function pairFile(options: { readonly port: number; readonly more?: string; readonly top?: string }): string {
  const { port, more = "", top = "" } = options;
  return `namespace: pair
${top}
services:
  web:
    port: ${port}
    entry: true
    calls: [hello]
    command:
      - node
      - -e
      - |
        const http = require("http");
        http.createServer((_, out) => http.get(process.env.HELLO_URL, (res) => {
          out.writeHead(res.statusCode);
          res.pipe(out);
        }).on("error", (failed) => out.writeHead(502).end(failed.message))).listen(process.env.PORT, process.env.HOST);
  hello:
    port: ${port}
    calls: []
    command: exec node -e 'require("http").createServer((_, out) => out.end("hello " + process.env.MESH_NAME)).listen(process.env.PORT, process.env.HOST)'
${more}`;
}

/** A rule for `hello` that answers by itself, which shows that it is in force. */
export function helloRule(answer: string): string {
  return `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: hello, namespace: pair}
spec:
  hosts: [hello.pair.svc.cluster.local]
  http:
    - directResponse: {status: 200, body: {string: "${answer}"}}
`;
}
