/** The theme of the site: VitePress's own, with our styles and components. */
import type { Theme } from "vitepress";
import DefaultTheme from "vitepress/theme";
import "./messages.css";

export default {
  extends: DefaultTheme,
} satisfies Theme;
