// Two lines on each page of the demo: what to try here. Nowhere else.

import { useQuery } from "@tanstack/react-query";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Menu, MenuItem } from "../parts/menu.tsx";
import { useTexts } from "../texts/texts.ts";
import { me, queries } from "../wire/read.ts";
import { request } from "../wire/request.ts";

export function DemoHint({ page }: { page: "inbox" | "threads" | "thread" | "fork" | "agents" | "permissions" }) {
  const t = useTexts();
  const { data } = useQuery(me);
  if (data?.demo === undefined) return null;
  const viewAs = async (user: string) => {
    await request("/demo/view-as", { body: { user } });
    await queries.invalidateQueries();
  };
  const reset = async () => {
    await request("/demo/reset", { body: {} });
    location.reload();
  };
  return (
    <aside className="hint" aria-label={t.demo.title}>
      <span>
        <Icon name="model" />
      </span>
      <span className="grow min-w-0">
        <strong>{t.demo.title}</strong> <span className="opt">{t.demo[page]}</span>
      </span>
      <Menu
        button={
          <Button size="sm" icon="person">
            {t.demo.viewAs(data.user)}
          </Button>
        }
      >
        {data.demo.people.map((person) => (
          <MenuItem key={person} icon="person" onSelect={() => void viewAs(person)}>
            {person}
          </MenuItem>
        ))}
      </Menu>
      <Button className="opt" size="sm" icon="again" onClick={() => void reset()}>
        {t.demo.reset}
      </Button>
    </aside>
  );
}
