// The words of the argument parser in the person's language: titles, defaults, refusals.

import type { Argument, Command, Option } from "commander";
import { width, wrap } from "./terminal/width.ts";
import type { Texts } from "./texts/texts.ts";

type Usage = Texts["usage"];

/** In less room than this lines are left as they are. */
const LEAST_COLUMNS = 40;

/** The command, with its help and its refusals in these words. */
export function speak(command: Command, usage: Usage): Command {
  const titles: Readonly<Record<string, string>> = {
    "Usage:": usage.usage,
    "Arguments:": usage.arguments,
    "Options:": usage.options,
    "Commands:": usage.commands,
  };
  return command
    .helpOption("-h, --help", usage.help)
    .configureHelp({
      displayWidth: width,
      boxWrap: (text, columns) => (columns < LEAST_COLUMNS ? text : wrapped(text, columns)),
      styleTitle: (title) => titles[title] ?? title,
      optionDescription: (option) => described(option, option.required || option.optional, usage),
      argumentDescription: (argument) => described(argument, true, usage),
    })
    .configureOutput({ outputError: (text, write) => write(refusal(text, usage)) });
}

function wrapped(text: string, columns: number): string {
  const rows = text.split("\n").flatMap((line) => wrap([{ text: line }], columns));
  return rows.map((row) => row.map((span) => span.text).join("")).join("\n");
}

function described(of: Option | Argument, showsDefault: boolean, usage: Usage): string {
  const { argChoices, defaultValue, description } = of;
  const more = [
    ...(argChoices ? [usage.choices(argChoices.map((choice) => JSON.stringify(choice)).join(", "))] : []),
    ...(showsDefault && defaultValue !== undefined ? [usage.default(JSON.stringify(defaultValue))] : []),
  ];
  return [description, ...(more.length > 0 ? [`(${more.join(", ")})`] : [])].filter(Boolean).join(" ");
}

/** Refusals come as English text; one that is not known stays as it is. */
export function refusal(text: string, usage: Usage): string {
  const [first = "", ...rest] = text.trimEnd().split("\n");
  const ways: readonly [RegExp, (...found: string[]) => string][] = [
    [/^error: unknown option ('.*')$/, usage.unknownOption],
    [/^error: missing required argument ('.*')$/, usage.noArgument],
    [/^error: option ('.*') argument missing$/, usage.noValue],
    [/^error: too many arguments.*\. Expected (\d+) arguments? but got (\d+)\.$/, usage.tooMany],
    [
      /^error: option '(.*)' argument '(.*)' is invalid\. (.*)$/,
      (option, value, why) => `${usage.notAllowed(`'${value}'`, `'${option}'`)} ${reasonOf(why, usage)}`,
    ],
  ];
  for (const [pattern, say] of ways) {
    const found = pattern.exec(first);
    if (found !== null)
      return `${[usage.error(say(...found.slice(1))), ...rest.map((line) => suggestion(line, usage))].join("\n")}\n`;
  }
  return text;
}

function reasonOf(why: string, usage: Usage): string {
  const choices = /^Allowed choices are (.*)\.$/.exec(why)?.[1];
  return choices === undefined ? why : usage.allowed(choices);
}

function suggestion(line: string, usage: Usage): string {
  const near = /^\(Did you mean (.*)\?\)$/.exec(line)?.[1];
  return near === undefined ? line : usage.didYouMean(near);
}
