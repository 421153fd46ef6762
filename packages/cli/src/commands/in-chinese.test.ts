// The commands in an environment that says Chinese.
import { describe, expect, test } from "vitest";
import { testProgram } from "../testing/processes.ts";

const program = testProgram();

describe("in Chinese, if the environment says so", () => {
  const env = { LANG: "zh_CN.UTF-8" };

  test("log and export are in Chinese; --json and the model's words stay as they are", async () => {
    const home = program.home();
    const paused = await home.belay(["-p", "run touch made", "--ask", "pause", "--output-format", "json"], { env });
    const { threadId, interrupts } = JSON.parse(paused.stdout) as { threadId: string; interrupts: { id: string }[] };
    const ids = interrupts.map(({ id }) => id);
    await home.belay(["answer", ids[0]!, "no", "今天不行", "--by", "maria"], { env });
    await home.belay(["-p", "--resume", threadId], { env });
    const log = (await home.belay(["log", threadId], { env })).stdout.replace(/^ +[\d.]+ s/gm, "T");
    expect(log).toContain("T  人         run touch made");
    expect(log).toContain(`T  请求       ${ids[0]} shell 的审批: `);
    expect(log).toContain(`T  答复       ${ids[0]} maria 拒绝`);
    expect(log).toContain("T  状态       已暂停（等待答复）");
    expect(log).toContain("T  结束       已完成");
    const facts = (await home.belay(["log", threadId, "--json"], { env })).stdout;
    expect(facts).toBe((await home.belay(["log", threadId, "--json"])).stdout);
    const page = (await home.belay(["export", threadId], { env })).stdout;
    expect(page).toContain(`# 会话 ${threadId}`);
    expect(page).toMatch(/## 人\n\nrun touch made\n[\s\S]*## 智能体[\s\S]*→ 被拒绝/);
    expect((await home.belay(["threads"], { env })).stdout).toContain("已完成");
  });

  test("requests of our tools, in the inbox and at the end of a run; requests of other tools stay in their words", async () => {
    const home = program.home();
    const paused = await home.belay(["-p", "three approvals", "--ask", "pause"], { env });
    expect(paused.stderr).toMatch(/等待你的回答：新建 notes\/one\.txt？ 回答：belay answer \S+ yes/);
    await home.belay(["-p", "ask me", "--ask", "pause"], { env });
    const inbox = (await home.belay(["inbox"], { env })).stdout;
    expect(inbox).toMatch(/审批[\s\S]* 新建 notes\/one\.txt？\n[\s\S]* 新建 notes\/two\.txt？\n[\s\S]* 运行此命令？\n/);
    expect(inbox).toContain("- the code");
    expect((await home.belay(["inbox"])).stdout).toContain("    Create notes/one.txt?\n");
  });

  test("--help of every command, and --lang before the environment", async () => {
    const home = program.home();
    const commands = "threads inbox answer interrupt log export rules mcp".split(" ").map((name) => [name]);
    for (const words of [
      [],
      ...commands,
      ["rules", "init"],
      ["rules", "remove"],
      ["rules", "explain"],
      ["mcp", "login"],
    ]) {
      const { code, stdout } = await home.belay([...words, "--help"], { env });
      expect([code, stdout.startsWith("用法：")], words.join(" ")).toEqual([0, true]);
      // Only the parts to type are not Chinese: every described line has some Chinese.
      const english = stdout
        .split("\n")
        .filter((line) => /^ {2}\S+.*\S {2,}\S/.test(line) && !/\p{Script=Han}/u.test(line));
      expect(english, words.join(" ")).toEqual([]);
    }
    expect((await home.belay(["--lang", "en", "--help"], { env })).stdout).toContain("Usage: belay");
    expect((await home.belay(["log", "--help", "--lang=zh"])).stdout).toContain("以时间线显示会话");
  });

  test("errors: the program's own problems, and invalid arguments", async () => {
    const home = program.home();
    const says = async (...args: string[]) => {
      const { code, stdout, stderr } = await home.belay(args, { env });
      expect([code, stdout], args.join(" ")).toEqual([2, ""]);
      return stderr.trim();
    };
    expect(await says("log", "nowhere")).toBe(
      '没有会话 "nowhere"。 用 belay threads、belay inbox、belay rules 和 belay mcp 查看都有什么。',
    );
    expect(await says("-p", "--continue")).toContain("没有可以继续的会话。");
    expect(await says("threds")).toContain('没有命令 "threds"。是否想用 threads？');
    expect(await says("-p", "hi", "--base-url", "nonsense")).toContain("模型服务器 nonsense 不是 http 或 https 地址。");
    expect(await says("--modle")).toBe("错误：没有选项 '--modle'\n（是否想用 --model？）\n参见 belay --help。");
    expect(await says("log")).toBe("错误：缺少参数 'thread'\n参见 belay --help。");
    expect(await says("threads", "--limit", "none")).toContain(
      "选项 '--limit <n>' 不接受 'none'。 必须是大于 0 的整数。",
    );
    expect(await says("log", "a", "b")).toContain("参数过多：应为 1 个，给出了 2 个。");
    expect(await says("-p", "hi", "--ask", "what")).toContain("不接受 'what'。 可选：deny, pause。");
    expect(await says("-p", "hi", "--model")).toContain("选项 '-m, --model <model>' 缺少值");
  });

  test("a sentence without blanks is a prompt, not a command", async () => {
    const home = program.home();
    expect(await home.belay(["这个文件夹里有什么"], { env })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/\S/),
    });
  });
});
