// A gRPC program that speaks xDS itself, told over IPC what to do. CommonJS: it is run as it is, without a build.
const grpc = require("@grpc/grpc-js");
const xds = require("@grpc/grpc-js-xds");

xds.register();
const bytes = { serialize: (text) => Buffer.from(text), deserialize: (buffer) => buffer.toString() };
const method = (path) => ({
  path,
  requestStream: false,
  responseStream: false,
  requestSerialize: bytes.serialize,
  requestDeserialize: bytes.deserialize,
  responseSerialize: bytes.serialize,
  responseDeserialize: bytes.deserialize,
});
const clients = new Map();

process.on("message", async (message) => {
  if (message.serve) {
    for (const port of message.serve) await serve(port, message.isXdsCredentials);
    process.send({ serving: message.serve });
  } else process.send(await call(message));
});

/** Each server answers with its port. It is serving when the control plane has told it how. */
async function serve(port, isXdsCredentials) {
  const server = new xds.XdsServer();
  const plain = grpc.ServerCredentials.createInsecure();
  const credentials = isXdsCredentials ? new xds.XdsServerCredentials(plain) : plain;
  const handlers = { Get: (_call, done) => done(null, String(port)) };
  server.addService({ Get: method("/quotes.Quotes/Get") }, handlers);
  await new Promise((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, credentials, (error) => (error ? reject(error) : resolve()));
  });
}

/** How often each answer, or status, came. */
async function call({ call: target, method: path, times, isXdsCredentials }) {
  let client = clients.get(target);
  if (client === undefined) {
    const plain = grpc.credentials.createInsecure();
    client = new grpc.Client(target, isXdsCredentials ? new xds.XdsChannelCredentials(plain) : plain);
    clients.set(target, client);
  }
  const counts = {};
  for (let round = 0; round < times; round += 1) {
    const answer = await new Promise((resolve) => {
      const deadline = Date.now() + 10_000;
      client.makeUnaryRequest(path, bytes.serialize, bytes.deserialize, "hello", { deadline }, (error, text) =>
        resolve(error ? grpc.status[error.code] : text),
      );
    });
    counts[answer] = (counts[answer] ?? 0) + 1;
  }
  return counts;
}
