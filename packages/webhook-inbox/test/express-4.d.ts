/** Express 4 beside Express 5: close enough in type for what the tests do. */
declare module "express-4" {
  import express from "express";
  export default express;
}
