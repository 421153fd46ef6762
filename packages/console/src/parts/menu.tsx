import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";
import { Key } from "./button.tsx";
import { Icon, type IconName } from "./icon.tsx";

export function Menu({
  button,
  children,
  align = "end",
}: {
  button: ReactNode;
  children: ReactNode;
  align?: "start" | "end";
}) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{button}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="menu" align={align} sideOffset={4} collisionPadding={8}>
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

interface ItemProps {
  readonly icon?: IconName;
  readonly keys?: string;
  readonly danger?: boolean;
  readonly refused?: string | undefined;
  readonly children: ReactNode;
  onSelect(): void;
}

export function MenuItem({ icon, keys, danger = false, refused, children, onSelect }: ItemProps) {
  return (
    <DropdownMenu.Item
      className={`menu-item ${danger ? "fg-fail" : ""}`}
      disabled={refused !== undefined}
      title={refused}
      onSelect={onSelect}
    >
      {icon && <Icon name={refused === undefined ? icon : "lock"} />}
      <span>
        {children}
        {refused !== undefined && <span className="block small faint">{refused}</span>}
      </span>
      {keys && (
        <span className="ml-auto pl-4">
          <Key name={keys} />
        </span>
      )}
    </DropdownMenu.Item>
  );
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly choices: readonly (readonly [T, string])[];
  readonly refused?: string | undefined;
  onChange(value: T): void;
}

/** One of several, with its label above. */
export function MenuChoice<T extends string>({ label, value, choices, refused, onChange }: ChoiceProps<T>) {
  return (
    <>
      <DropdownMenu.Label className="menu-label">{label}</DropdownMenu.Label>
      <DropdownMenu.RadioGroup value={value} onValueChange={(next) => onChange(next as T)}>
        {choices.map(([name, words]) => (
          <DropdownMenu.RadioItem
            key={name}
            className="menu-item"
            value={name}
            disabled={refused !== undefined}
            title={refused}
            onSelect={(event) => event.preventDefault()}
          >
            <span className="w-4">{name === value && <Icon name="check" />}</span>
            {words}
          </DropdownMenu.RadioItem>
        ))}
      </DropdownMenu.RadioGroup>
    </>
  );
}

export function MenuLine() {
  return <DropdownMenu.Separator className="menu-line" />;
}
