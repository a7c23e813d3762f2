/** The theme of the site: VitePress's own, with our colours, a landing page, and the product's card. */
import type { Theme } from "vitepress";
import DefaultTheme from "vitepress/theme";
import Landing from "./Landing.vue";
import Layout from "./Layout.vue";
import ProductCard from "./ProductCard.vue";
import "./style.css";

export default {
  ...DefaultTheme,
  Layout,
  enhanceApp({ app }) {
    app.component("Landing", Landing).component("ProductCard", ProductCard);
  },
} satisfies Theme;
