// Calls tools as a TypeScript client does and reports what it saw. Reads a plan as JSON from standard input:
//   { packages, sdk: 1 | 2, command?, args?, env?, url?, calls: [{ tool, arguments, keep }] }
// `keep` remembers a value of the answer by its path ("results.0.email_id"); "$name" in later arguments stands for it.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const plan = JSON.parse(readFileSync(0, "utf8"));
const require = createRequire(`${plan.packages}/package.json`);

const sdks = {
  1: () => ({
    ...require("@modelcontextprotocol/sdk/client/index.js"),
    ...require("@modelcontextprotocol/sdk/client/stdio.js"),
    ...require("@modelcontextprotocol/sdk/client/streamableHttp.js"),
  }),
  2: () => ({
    ...require("@modelcontextprotocol/client"),
    ...require("@modelcontextprotocol/client/stdio"),
  }),
};
const { Client, StdioClientTransport, StreamableHTTPClientTransport } = sdks[plan.sdk]();

const client = new Client({ name: "postroom-test", version: "0" }, { capabilities: {} });
const transport = plan.url
  ? new StreamableHTTPClientTransport(new URL(plan.url))
  : new StdioClientTransport({ command: plan.command, args: plan.args, env: plan.env, stderr: "ignore" });
await client.connect(transport);
const { tools } = await client.listTools();

const kept = {};
const filled = (value) => {
  if (typeof value === "string" && value.startsWith("$")) return kept[value.slice(1)];
  if (Array.isArray(value)) return value.map(filled);
  return value;
};
const at = (answer, path) => path.split(".").reduce((part, step) => part?.[step], answer);

const answers = [];
for (const { tool, arguments: given, keep } of plan.calls) {
  const args = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, filled(value)]));
  try {
    const result = await client.callTool({ name: tool, arguments: args });
    for (const [name, path] of Object.entries(keep ?? {})) kept[name] = at(result.structuredContent, path);
    answers.push({
      tool,
      isError: result.isError === true,
      structured: result.structuredContent ?? null,
      text: result.content?.[0]?.text ?? "",
    });
  } catch (problem) {
    answers.push({ tool, threw: String(problem) });
  }
}
await client.close();
console.log(JSON.stringify({ tools: tools.map(({ name }) => name), answers }));
