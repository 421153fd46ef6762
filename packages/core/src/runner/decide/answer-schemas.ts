import type { StandardSchema } from "../../schema/schema.ts";

/** The schemas that the code behind open requests has for answers, by request. Most sessions never have any. */
export class AnswerSchemas {
  #known: Map<string, StandardSchema> | undefined;

  get(id: string): StandardSchema | undefined {
    return this.#known?.get(id);
  }

  set(id: string, schema: StandardSchema): void {
    this.#known ??= new Map();
    this.#known.set(id, schema);
  }

  delete(id: string): void {
    this.#known?.delete(id);
  }
}
