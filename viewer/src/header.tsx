/** The head of the local app and the notebook widget: which model answers, help, light or dark, the language. */

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { Button, Choice } from "./parts.tsx";
import type { Hello } from "./source.ts";
import type { Translate } from "./words.ts";

export type ThemeName = "auto" | "light" | "dark";

export function Header(props: {
  hello: Hello;
  /** A page has one first heading; in a notebook the name is a heading among others. */
  page: boolean;
  theme: ThemeName;
  light: (theme: ThemeName) => void;
  lang: string;
  speak: (lang: string) => void;
  t: Translate;
}): ComponentChildren {
  const { hello, t } = props;
  const Name = props.page ? "h1" : "h2";
  const languages = Object.entries(hello.languages ?? {});
  return (
    <header class="head">
      <Name class="name">{hello.model || "regard"}</Name>
      <span class="bar">
        <Help t={t} />
        <Choice
          label={t("pick_theme")}
          value={props.theme}
          options={[
            ["auto", t("theme_auto")],
            ["light", t("theme_light")],
            ["dark", t("theme_dark")],
          ]}
          pick={props.light}
        />
        {languages.length > 1 && (
          <Choice label={t("pick_language")} value={props.lang} options={languages} pick={props.speak} />
        )}
      </span>
    </header>
  );
}

function Help(props: { t: Translate }): ComponentChildren {
  const { t } = props;
  const box = useRef<HTMLDialogElement>(null);
  return (
    <>
      <Button click={() => box.current?.showModal()}>{t("help")}</Button>
      <dialog ref={box} aria-label={t("help_title")}>
        <h2>{t("help_title")}</h2>
        {(["help_order", "help_table", "help_keys", "help_trust"] as const).map((key) => (
          <p key={key}>{t(key)}</p>
        ))}
        <Button click={() => box.current?.close()}>{t("close")}</Button>
      </dialog>
    </>
  );
}
