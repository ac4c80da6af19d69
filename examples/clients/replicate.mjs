// Runs a task with Replicate's own client library, pointed at a server with REPLICATE=true. The model, or the version, is a queue.
//   npm install replicate
import Replicate from "replicate";

const url = process.env.PAIHAO_URL ?? "http://127.0.0.1:3000";
const replicate = new Replicate({ baseUrl: `${url}/replicate/v1`, auth: process.env.PAIHAO_KEY ?? "none" });

const output = await replicate.run("paihao/default", { input: { seconds: 1 } }, ({ id, status }) =>
  console.log(id, status),
);
console.log(JSON.stringify(output));
