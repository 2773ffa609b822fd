// The page's beginning.

import { mount } from "svelte";
import "./styles/theme.css";
import "./styles/base.css";
import { takeTokenFromAddress } from "$lib/api";
import App from "./App.svelte";

takeTokenFromAddress();

const target = document.getElementById("app");
if (target) mount(App, { target });
