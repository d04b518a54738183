import DefaultTheme from "vitepress/theme";
// A style sheet has nothing to name.
// oxlint-disable-next-line import/no-unassigned-import
import "./style.css";

export default DefaultTheme;
