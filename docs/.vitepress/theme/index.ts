/** The theme of the site: VitePress's own, with our colours. */
import DefaultTheme from "vitepress/theme";
import "./style.css";

export default DefaultTheme;
