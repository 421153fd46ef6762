// A server's question as a request to a person, and the person's answer as the server wants it.

import { humanApproval, humanInput, jsonSchema, type ToolContext } from "@belay/core";
import type { ElicitResult } from "@modelcontextprotocol/client";
import type { Elicitation } from "./server.ts";

/** `key` names it in its call: asked again after a restart, it is the same question. */
export async function elicit(ctx: ToolContext, server: string, asked: Elicitation, key: string): Promise<ElicitResult> {
  const context = { server, ...(asked.url !== undefined && { url: asked.url }) };
  try {
    if (asked.url !== undefined) {
      const reason = `${server} asks you to open a page: ${asked.message} ${asked.url}`;
      const { approved } = await ctx.ask(humanApproval(reason, { context }), { key });
      return { action: approved ? "accept" : "decline" };
    }
    const schema = schemaOf(asked.schema);
    const content = await ctx.ask(humanInput(`${server} asks: ${asked.message}`, { context, schema }), { key });
    return { action: "accept", content: { ...defaultsOf(asked.schema), ...content } };
  } catch (error) {
    if ((error as { code?: string }).code === "REQUEST_REJECTED") return { action: "decline" };
    if ((error as { code?: string }).code === "ANSWER_EXPIRED") return { action: "cancel" };
    throw error;
  }
}

type Content = NonNullable<ElicitResult["content"]>;

/** A field with a default may be left out. A schema that we cannot read still needs an object. */
function schemaOf(schema: object | undefined) {
  const { required, ...rest } = (schema ?? {}) as { required?: readonly string[] };
  const optional = Object.keys(defaultsOf(schema));
  const needed = required?.filter((name) => !optional.includes(name));
  try {
    return jsonSchema<Content>({ ...rest, type: "object", ...(needed && { required: needed }) });
  } catch {
    return jsonSchema<Content>({ type: "object" });
  }
}

function defaultsOf(schema: object | undefined): Content {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, { default?: Content[string] }> };
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, { default: value }]) => (value === undefined ? [] : [[name, value]])),
  );
}
