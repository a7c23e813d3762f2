/** Generated from openapi.yaml by `npm run generate`. Do not edit. */
"use strict";
export const Card = validate20;
const schema31 = {"$id":"Card","$ref":"document#/components/schemas/Card"};
const schema33 = {"type":"object","description":"A digital loyalty card of one customer.","x-assumption":"card-members","required":["id","publicUrl","status","customerId","loyaltyBalance","loyaltyTier","issuedVia","fieldValues"],"additionalProperties":true,"properties":{"id":{"type":"string","minLength":1,"description":"Identifier of the card. Store it with your user."},"publicUrl":{"type":"string","format":"uri","description":"Address of the public card page, and target of the QR code."},"status":{"type":"string","x-extensible-enum":["active"],"x-assumption":"card-status","description":"The state of the card; `active` on a newly issued one."},"customerId":{"type":"string","description":"Identifier of the customer the card belongs to."},"loyaltyBalance":{"type":"number","description":"The current balance in points or stamps; 0 on a newly issued card."},"loyaltyTier":{"type":["string","null"],"x-assumption":"tier-rule","description":"The name of the current level; null on a newly issued card."},"issuedVia":{"type":"string","x-extensible-enum":["website","api"],"x-assumption":"issued-via","description":"`website` when the card was issued with a Website key."},"fieldValues":{"$ref":"#/components/schemas/FieldValues"}}};
const schema34 = {"type":"object","description":"Map from a field key of the template to its value.","x-assumption":["field-values","points-field","name-field","template-definition"],"additionalProperties":{"type":["string","number"]}};
const func1 = ((text) => [...text].length);

function validate22(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate22.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.id === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "id"},message:"must have required property '"+"id"+"'"};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.publicUrl === undefined){
const err1 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "publicUrl"},message:"must have required property '"+"publicUrl"+"'"};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(data.status === undefined){
const err2 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "status"},message:"must have required property '"+"status"+"'"};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if(data.customerId === undefined){
const err3 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "customerId"},message:"must have required property '"+"customerId"+"'"};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
if(data.loyaltyBalance === undefined){
const err4 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "loyaltyBalance"},message:"must have required property '"+"loyaltyBalance"+"'"};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
if(data.loyaltyTier === undefined){
const err5 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "loyaltyTier"},message:"must have required property '"+"loyaltyTier"+"'"};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
if(data.issuedVia === undefined){
const err6 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "issuedVia"},message:"must have required property '"+"issuedVia"+"'"};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
if(data.fieldValues === undefined){
const err7 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "fieldValues"},message:"must have required property '"+"fieldValues"+"'"};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
if(data.id !== undefined){
let data0 = data.id;
if(typeof data0 === "string"){
if(func1(data0) < 1){
const err8 = {instancePath:instancePath+"/id",schemaPath:"#/properties/id/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters"};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
else {
const err9 = {instancePath:instancePath+"/id",schemaPath:"#/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
if(data.publicUrl !== undefined){
if(!(typeof data.publicUrl === "string")){
const err10 = {instancePath:instancePath+"/publicUrl",schemaPath:"#/properties/publicUrl/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
if(data.status !== undefined){
if(typeof data.status !== "string"){
const err11 = {instancePath:instancePath+"/status",schemaPath:"#/properties/status/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
if(data.customerId !== undefined){
if(typeof data.customerId !== "string"){
const err12 = {instancePath:instancePath+"/customerId",schemaPath:"#/properties/customerId/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
if(data.loyaltyBalance !== undefined){
if(!(typeof data.loyaltyBalance == "number")){
const err13 = {instancePath:instancePath+"/loyaltyBalance",schemaPath:"#/properties/loyaltyBalance/type",keyword:"type",params:{type: "number"},message:"must be number"};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
if(data.loyaltyTier !== undefined){
let data5 = data.loyaltyTier;
if((typeof data5 !== "string") && (data5 !== null)){
const err14 = {instancePath:instancePath+"/loyaltyTier",schemaPath:"#/properties/loyaltyTier/type",keyword:"type",params:{type: schema33.properties.loyaltyTier.type},message:"must be string,null"};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
if(data.issuedVia !== undefined){
if(typeof data.issuedVia !== "string"){
const err15 = {instancePath:instancePath+"/issuedVia",schemaPath:"#/properties/issuedVia/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
if(data.fieldValues !== undefined){
let data7 = data.fieldValues;
if(data7 && typeof data7 == "object" && !Array.isArray(data7)){
for(const key0 in data7){
let data8 = data7[key0];
if((typeof data8 !== "string") && (!(typeof data8 == "number"))){
const err16 = {instancePath:instancePath+"/fieldValues/" + key0.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/components/schemas/FieldValues/additionalProperties/type",keyword:"type",params:{type: schema34.additionalProperties.type},message:"must be string,number"};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
}
else {
const err17 = {instancePath:instancePath+"/fieldValues",schemaPath:"#/components/schemas/FieldValues/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
}
else {
const err18 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
validate22.errors = vErrors;
return errors === 0;
}
validate22.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};


function validate20(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
/*# sourceURL="Card" */;
let vErrors = null;
let errors = 0;
const evaluated0 = validate20.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(!(validate22(data, {instancePath,parentData,parentDataProperty,rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate22.errors : vErrors.concat(validate22.errors);
errors = vErrors.length;
}
validate20.errors = vErrors;
return errors === 0;
}
validate20.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};

export const OperationList = validate24;
const schema35 = {"$id":"OperationList","$ref":"document#/components/schemas/OperationList"};
const schema36 = {"type":"object","description":"Operations of a card, newest first.","x-assumption":"operation-list","required":["items"],"additionalProperties":true,"properties":{"items":{"type":"array","description":"The newest operations, newest first.","items":{"$ref":"#/components/schemas/Operation"}}}};
const schema37 = {"type":"object","description":"One entry of a card's history.","x-assumption":"operation-members","required":["id","type"],"additionalProperties":true,"properties":{"id":{"type":"string","description":"Identifier of the operation."},"type":{"$ref":"#/components/schemas/OperationType"},"change":{"type":"number","description":"Signed difference to the balance, in points or stamps. Absent when the service does not send it."},"balance":{"type":"number","description":"Balance after the operation, in points or stamps. Absent when the service does not send it."},"createdAt":{"type":"string","format":"date-time","description":"When it happened, as the service wrote it. Absent when the service does not send it."}}};
const schema38 = {"type":"string","x-extensible-enum":["purchase","redemption","reward","correction","cancellation"],"x-assumption":"operation-type","description":"Why the balance changed."};

function validate26(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate26.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.id === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "id"},message:"must have required property '"+"id"+"'"};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.type === undefined){
const err1 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "type"},message:"must have required property '"+"type"+"'"};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(data.id !== undefined){
if(typeof data.id !== "string"){
const err2 = {instancePath:instancePath+"/id",schemaPath:"#/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(data.type !== undefined){
if(typeof data.type !== "string"){
const err3 = {instancePath:instancePath+"/type",schemaPath:"#/components/schemas/OperationType/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
if(data.change !== undefined){
if(!(typeof data.change == "number")){
const err4 = {instancePath:instancePath+"/change",schemaPath:"#/properties/change/type",keyword:"type",params:{type: "number"},message:"must be number"};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(data.balance !== undefined){
if(!(typeof data.balance == "number")){
const err5 = {instancePath:instancePath+"/balance",schemaPath:"#/properties/balance/type",keyword:"type",params:{type: "number"},message:"must be number"};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
if(data.createdAt !== undefined){
if(!(typeof data.createdAt === "string")){
const err6 = {instancePath:instancePath+"/createdAt",schemaPath:"#/properties/createdAt/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
}
else {
const err7 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
validate26.errors = vErrors;
return errors === 0;
}
validate26.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};


function validate25(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate25.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.items === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "items"},message:"must have required property '"+"items"+"'"};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.items !== undefined){
let data0 = data.items;
if(Array.isArray(data0)){
const len0 = data0.length;
for(let i0=0; i0<len0; i0++){
if(!(validate26(data0[i0], {instancePath:instancePath+"/items/" + i0,parentData:data0,parentDataProperty:i0,rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate26.errors : vErrors.concat(validate26.errors);
errors = vErrors.length;
}
}
}
else {
const err1 = {instancePath:instancePath+"/items",schemaPath:"#/properties/items/type",keyword:"type",params:{type: "array"},message:"must be array"};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
}
else {
const err2 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
validate25.errors = vErrors;
return errors === 0;
}
validate25.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};


function validate24(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
/*# sourceURL="OperationList" */;
let vErrors = null;
let errors = 0;
const evaluated0 = validate24.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(!(validate25(data, {instancePath,parentData,parentDataProperty,rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate25.errors : vErrors.concat(validate25.errors);
errors = vErrors.length;
}
validate24.errors = vErrors;
return errors === 0;
}
validate24.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};

export const ConsentState = validate29;
const schema39 = {"$id":"ConsentState","$ref":"document#/components/schemas/ConsentState"};
const schema40 = {"type":"object","description":"The news-and-offers consent of a card holder.","required":["customer","marketingConsent"],"additionalProperties":true,"properties":{"customer":{"type":"object","description":"The card holder.","x-assumption":"consent-customer","additionalProperties":true},"marketingConsent":{"type":"boolean","x-assumption":"marketing-consent","description":"Whether news and offers may be sent; false when withdrawn or never given."}}};

function validate29(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
/*# sourceURL="ConsentState" */;
let vErrors = null;
let errors = 0;
const evaluated0 = validate29.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.customer === undefined){
const err0 = {instancePath,schemaPath:"document#/components/schemas/ConsentState/required",keyword:"required",params:{missingProperty: "customer"},message:"must have required property '"+"customer"+"'"};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.marketingConsent === undefined){
const err1 = {instancePath,schemaPath:"document#/components/schemas/ConsentState/required",keyword:"required",params:{missingProperty: "marketingConsent"},message:"must have required property '"+"marketingConsent"+"'"};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(data.customer !== undefined){
let data0 = data.customer;
if(data0 && typeof data0 == "object" && !Array.isArray(data0)){
}
else {
const err2 = {instancePath:instancePath+"/customer",schemaPath:"document#/components/schemas/ConsentState/properties/customer/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(data.marketingConsent !== undefined){
if(typeof data.marketingConsent !== "boolean"){
const err3 = {instancePath:instancePath+"/marketingConsent",schemaPath:"document#/components/schemas/ConsentState/properties/marketingConsent/type",keyword:"type",params:{type: "boolean"},message:"must be boolean"};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
}
else {
const err4 = {instancePath,schemaPath:"document#/components/schemas/ConsentState/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
validate29.errors = vErrors;
return errors === 0;
}
validate29.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};

export const CardAddedEvent = validate30;
const schema41 = {"$id":"CardAddedEvent","$ref":"document#/components/schemas/CardAddedEvent"};
const schema42 = {"type":"object","description":"A card was added to a wallet.","required":["id","type","createdAt","data"],"additionalProperties":true,"properties":{"id":{"type":"string","minLength":1,"maxLength":512,"x-assumption":["event-id","event-id-order"],"description":"Identical across repeated deliveries of the same event; deduplicate by it."},"type":{"const":"card.added","description":"The event type."},"createdAt":{"type":"string","format":"date-time","description":"When it happened: ISO 8601, UTC with milliseconds."},"data":{"$ref":"#/components/schemas/WalletChange"}}};
const schema43 = {"type":"object","description":"Which card, and which wallet.","required":["passId","customerId"],"additionalProperties":true,"properties":{"passId":{"type":"string","description":"Identifier of the card."},"customerId":{"type":"string","description":"Identifier of its customer."},"wallet":{"x-assumption":"wallet","description":"Which wallet kind; the mock service sends `apple` and `google`. Its values are not specified, so any JSON value may come."}}};

function validate31(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate31.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.id === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "id"},message:"must have required property '"+"id"+"'"};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.type === undefined){
const err1 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "type"},message:"must have required property '"+"type"+"'"};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(data.createdAt === undefined){
const err2 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "createdAt"},message:"must have required property '"+"createdAt"+"'"};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if(data.data === undefined){
const err3 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "data"},message:"must have required property '"+"data"+"'"};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
if(data.id !== undefined){
let data0 = data.id;
if(typeof data0 === "string"){
if(func1(data0) > 512){
const err4 = {instancePath:instancePath+"/id",schemaPath:"#/properties/id/maxLength",keyword:"maxLength",params:{limit: 512},message:"must NOT have more than 512 characters"};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
if(func1(data0) < 1){
const err5 = {instancePath:instancePath+"/id",schemaPath:"#/properties/id/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters"};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
else {
const err6 = {instancePath:instancePath+"/id",schemaPath:"#/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
if(data.type !== undefined){
if("card.added" !== data.type){
const err7 = {instancePath:instancePath+"/type",schemaPath:"#/properties/type/const",keyword:"const",params:{allowedValue: "card.added"},message:"must be equal to constant"};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
if(data.createdAt !== undefined){
if(!(typeof data.createdAt === "string")){
const err8 = {instancePath:instancePath+"/createdAt",schemaPath:"#/properties/createdAt/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
if(data.data !== undefined){
let data3 = data.data;
if(data3 && typeof data3 == "object" && !Array.isArray(data3)){
if(data3.passId === undefined){
const err9 = {instancePath:instancePath+"/data",schemaPath:"#/components/schemas/WalletChange/required",keyword:"required",params:{missingProperty: "passId"},message:"must have required property '"+"passId"+"'"};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
if(data3.customerId === undefined){
const err10 = {instancePath:instancePath+"/data",schemaPath:"#/components/schemas/WalletChange/required",keyword:"required",params:{missingProperty: "customerId"},message:"must have required property '"+"customerId"+"'"};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
if(data3.passId !== undefined){
if(typeof data3.passId !== "string"){
const err11 = {instancePath:instancePath+"/data/passId",schemaPath:"#/components/schemas/WalletChange/properties/passId/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
if(data3.customerId !== undefined){
if(typeof data3.customerId !== "string"){
const err12 = {instancePath:instancePath+"/data/customerId",schemaPath:"#/components/schemas/WalletChange/properties/customerId/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
}
else {
const err13 = {instancePath:instancePath+"/data",schemaPath:"#/components/schemas/WalletChange/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
}
else {
const err14 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
validate31.errors = vErrors;
return errors === 0;
}
validate31.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};


function validate30(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
/*# sourceURL="CardAddedEvent" */;
let vErrors = null;
let errors = 0;
const evaluated0 = validate30.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(!(validate31(data, {instancePath,parentData,parentDataProperty,rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate31.errors : vErrors.concat(validate31.errors);
errors = vErrors.length;
}
validate30.errors = vErrors;
return errors === 0;
}
validate30.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};

export const CardRemovedEvent = validate33;
const schema44 = {"$id":"CardRemovedEvent","$ref":"document#/components/schemas/CardRemovedEvent"};
const schema45 = {"type":"object","description":"A card was removed from a wallet.","required":["id","type","createdAt","data"],"additionalProperties":true,"properties":{"id":{"type":"string","minLength":1,"maxLength":512,"x-assumption":["event-id","event-id-order"],"description":"Identical across repeated deliveries of the same event; deduplicate by it."},"type":{"const":"card.removed","description":"The event type."},"createdAt":{"type":"string","format":"date-time","description":"When it happened: ISO 8601, UTC with milliseconds."},"data":{"$ref":"#/components/schemas/WalletChange"}}};

function validate34(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate34.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.id === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "id"},message:"must have required property '"+"id"+"'"};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.type === undefined){
const err1 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "type"},message:"must have required property '"+"type"+"'"};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(data.createdAt === undefined){
const err2 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "createdAt"},message:"must have required property '"+"createdAt"+"'"};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if(data.data === undefined){
const err3 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "data"},message:"must have required property '"+"data"+"'"};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
if(data.id !== undefined){
let data0 = data.id;
if(typeof data0 === "string"){
if(func1(data0) > 512){
const err4 = {instancePath:instancePath+"/id",schemaPath:"#/properties/id/maxLength",keyword:"maxLength",params:{limit: 512},message:"must NOT have more than 512 characters"};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
if(func1(data0) < 1){
const err5 = {instancePath:instancePath+"/id",schemaPath:"#/properties/id/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters"};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
else {
const err6 = {instancePath:instancePath+"/id",schemaPath:"#/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
if(data.type !== undefined){
if("card.removed" !== data.type){
const err7 = {instancePath:instancePath+"/type",schemaPath:"#/properties/type/const",keyword:"const",params:{allowedValue: "card.removed"},message:"must be equal to constant"};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
if(data.createdAt !== undefined){
if(!(typeof data.createdAt === "string")){
const err8 = {instancePath:instancePath+"/createdAt",schemaPath:"#/properties/createdAt/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
if(data.data !== undefined){
let data3 = data.data;
if(data3 && typeof data3 == "object" && !Array.isArray(data3)){
if(data3.passId === undefined){
const err9 = {instancePath:instancePath+"/data",schemaPath:"#/components/schemas/WalletChange/required",keyword:"required",params:{missingProperty: "passId"},message:"must have required property '"+"passId"+"'"};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
if(data3.customerId === undefined){
const err10 = {instancePath:instancePath+"/data",schemaPath:"#/components/schemas/WalletChange/required",keyword:"required",params:{missingProperty: "customerId"},message:"must have required property '"+"customerId"+"'"};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
if(data3.passId !== undefined){
if(typeof data3.passId !== "string"){
const err11 = {instancePath:instancePath+"/data/passId",schemaPath:"#/components/schemas/WalletChange/properties/passId/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
if(data3.customerId !== undefined){
if(typeof data3.customerId !== "string"){
const err12 = {instancePath:instancePath+"/data/customerId",schemaPath:"#/components/schemas/WalletChange/properties/customerId/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
}
else {
const err13 = {instancePath:instancePath+"/data",schemaPath:"#/components/schemas/WalletChange/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
}
else {
const err14 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
validate34.errors = vErrors;
return errors === 0;
}
validate34.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};


function validate33(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
/*# sourceURL="CardRemovedEvent" */;
let vErrors = null;
let errors = 0;
const evaluated0 = validate33.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(!(validate34(data, {instancePath,parentData,parentDataProperty,rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate34.errors : vErrors.concat(validate34.errors);
errors = vErrors.length;
}
validate33.errors = vErrors;
return errors === 0;
}
validate33.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};

export const BalanceChangedEvent = validate36;
const schema47 = {"$id":"BalanceChangedEvent","$ref":"document#/components/schemas/BalanceChangedEvent"};
const schema48 = {"type":"object","description":"Points or stamps changed.","required":["id","type","createdAt","data"],"additionalProperties":true,"properties":{"id":{"type":"string","minLength":1,"maxLength":512,"x-assumption":["event-id","event-id-order"],"description":"Identical across repeated deliveries of the same event; deduplicate by it."},"type":{"const":"balance.changed","description":"The event type."},"createdAt":{"type":"string","format":"date-time","description":"When it happened: ISO 8601, UTC with milliseconds."},"data":{"type":"object","description":"The new balance and why.","required":["passId","customerId","balance","change","operation"],"additionalProperties":true,"properties":{"passId":{"type":"string","description":"Identifier of the card."},"customerId":{"type":"string","description":"Identifier of its customer."},"balance":{"type":"number","description":"The new balance, in points or stamps."},"change":{"type":"number","description":"Signed difference to the balance before, in points or stamps."},"operation":{"type":"object","description":"The operation that changed it.","required":["id","type"],"additionalProperties":true,"properties":{"id":{"type":"string","description":"Identifier of the operation."},"type":{"$ref":"#/components/schemas/OperationType"}}}}}}};

function validate37(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate37.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.id === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "id"},message:"must have required property '"+"id"+"'"};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.type === undefined){
const err1 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "type"},message:"must have required property '"+"type"+"'"};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(data.createdAt === undefined){
const err2 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "createdAt"},message:"must have required property '"+"createdAt"+"'"};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if(data.data === undefined){
const err3 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "data"},message:"must have required property '"+"data"+"'"};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
if(data.id !== undefined){
let data0 = data.id;
if(typeof data0 === "string"){
if(func1(data0) > 512){
const err4 = {instancePath:instancePath+"/id",schemaPath:"#/properties/id/maxLength",keyword:"maxLength",params:{limit: 512},message:"must NOT have more than 512 characters"};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
if(func1(data0) < 1){
const err5 = {instancePath:instancePath+"/id",schemaPath:"#/properties/id/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters"};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
else {
const err6 = {instancePath:instancePath+"/id",schemaPath:"#/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
if(data.type !== undefined){
if("balance.changed" !== data.type){
const err7 = {instancePath:instancePath+"/type",schemaPath:"#/properties/type/const",keyword:"const",params:{allowedValue: "balance.changed"},message:"must be equal to constant"};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
if(data.createdAt !== undefined){
if(!(typeof data.createdAt === "string")){
const err8 = {instancePath:instancePath+"/createdAt",schemaPath:"#/properties/createdAt/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
if(data.data !== undefined){
let data3 = data.data;
if(data3 && typeof data3 == "object" && !Array.isArray(data3)){
if(data3.passId === undefined){
const err9 = {instancePath:instancePath+"/data",schemaPath:"#/properties/data/required",keyword:"required",params:{missingProperty: "passId"},message:"must have required property '"+"passId"+"'"};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
if(data3.customerId === undefined){
const err10 = {instancePath:instancePath+"/data",schemaPath:"#/properties/data/required",keyword:"required",params:{missingProperty: "customerId"},message:"must have required property '"+"customerId"+"'"};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
if(data3.balance === undefined){
const err11 = {instancePath:instancePath+"/data",schemaPath:"#/properties/data/required",keyword:"required",params:{missingProperty: "balance"},message:"must have required property '"+"balance"+"'"};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
if(data3.change === undefined){
const err12 = {instancePath:instancePath+"/data",schemaPath:"#/properties/data/required",keyword:"required",params:{missingProperty: "change"},message:"must have required property '"+"change"+"'"};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
if(data3.operation === undefined){
const err13 = {instancePath:instancePath+"/data",schemaPath:"#/properties/data/required",keyword:"required",params:{missingProperty: "operation"},message:"must have required property '"+"operation"+"'"};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
if(data3.passId !== undefined){
if(typeof data3.passId !== "string"){
const err14 = {instancePath:instancePath+"/data/passId",schemaPath:"#/properties/data/properties/passId/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
if(data3.customerId !== undefined){
if(typeof data3.customerId !== "string"){
const err15 = {instancePath:instancePath+"/data/customerId",schemaPath:"#/properties/data/properties/customerId/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
if(data3.balance !== undefined){
if(!(typeof data3.balance == "number")){
const err16 = {instancePath:instancePath+"/data/balance",schemaPath:"#/properties/data/properties/balance/type",keyword:"type",params:{type: "number"},message:"must be number"};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
if(data3.change !== undefined){
if(!(typeof data3.change == "number")){
const err17 = {instancePath:instancePath+"/data/change",schemaPath:"#/properties/data/properties/change/type",keyword:"type",params:{type: "number"},message:"must be number"};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
if(data3.operation !== undefined){
let data8 = data3.operation;
if(data8 && typeof data8 == "object" && !Array.isArray(data8)){
if(data8.id === undefined){
const err18 = {instancePath:instancePath+"/data/operation",schemaPath:"#/properties/data/properties/operation/required",keyword:"required",params:{missingProperty: "id"},message:"must have required property '"+"id"+"'"};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
if(data8.type === undefined){
const err19 = {instancePath:instancePath+"/data/operation",schemaPath:"#/properties/data/properties/operation/required",keyword:"required",params:{missingProperty: "type"},message:"must have required property '"+"type"+"'"};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
if(data8.id !== undefined){
if(typeof data8.id !== "string"){
const err20 = {instancePath:instancePath+"/data/operation/id",schemaPath:"#/properties/data/properties/operation/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
}
if(data8.type !== undefined){
if(typeof data8.type !== "string"){
const err21 = {instancePath:instancePath+"/data/operation/type",schemaPath:"#/components/schemas/OperationType/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
}
}
else {
const err22 = {instancePath:instancePath+"/data/operation",schemaPath:"#/properties/data/properties/operation/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
}
}
else {
const err23 = {instancePath:instancePath+"/data",schemaPath:"#/properties/data/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err23];
}
else {
vErrors.push(err23);
}
errors++;
}
}
}
else {
const err24 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err24];
}
else {
vErrors.push(err24);
}
errors++;
}
validate37.errors = vErrors;
return errors === 0;
}
validate37.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};


function validate36(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
/*# sourceURL="BalanceChangedEvent" */;
let vErrors = null;
let errors = 0;
const evaluated0 = validate36.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(!(validate37(data, {instancePath,parentData,parentDataProperty,rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate37.errors : vErrors.concat(validate37.errors);
errors = vErrors.length;
}
validate36.errors = vErrors;
return errors === 0;
}
validate36.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};

export const TierChangedEvent = validate39;
const schema50 = {"$id":"TierChangedEvent","$ref":"document#/components/schemas/TierChangedEvent"};
const schema51 = {"type":"object","x-assumption":"points-expiry","description":"The card moved to another level.","required":["id","type","createdAt","data"],"additionalProperties":true,"properties":{"id":{"type":"string","minLength":1,"maxLength":512,"x-assumption":["event-id","event-id-order"],"description":"Identical across repeated deliveries of the same event; deduplicate by it."},"type":{"const":"tier.changed","description":"The event type."},"createdAt":{"type":"string","format":"date-time","description":"When it happened: ISO 8601, UTC with milliseconds."},"data":{"type":"object","description":"The new level and the one before.","required":["passId","customerId"],"additionalProperties":true,"properties":{"passId":{"type":"string","description":"Identifier of the card."},"customerId":{"type":"string","description":"Identifier of its customer."},"tier":{"x-assumption":"event-tier","description":"The new level; the mock service sends its name, or null when below all levels. Its form is not specified, so any JSON value may come."},"previous":{"x-assumption":"event-tier","description":"The level before; the mock service sends its name, or null when there was none. Any JSON value may come."}}}}};

function validate39(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
/*# sourceURL="TierChangedEvent" */;
let vErrors = null;
let errors = 0;
const evaluated0 = validate39.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.id === undefined){
const err0 = {instancePath,schemaPath:"document#/components/schemas/TierChangedEvent/required",keyword:"required",params:{missingProperty: "id"},message:"must have required property '"+"id"+"'"};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.type === undefined){
const err1 = {instancePath,schemaPath:"document#/components/schemas/TierChangedEvent/required",keyword:"required",params:{missingProperty: "type"},message:"must have required property '"+"type"+"'"};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(data.createdAt === undefined){
const err2 = {instancePath,schemaPath:"document#/components/schemas/TierChangedEvent/required",keyword:"required",params:{missingProperty: "createdAt"},message:"must have required property '"+"createdAt"+"'"};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if(data.data === undefined){
const err3 = {instancePath,schemaPath:"document#/components/schemas/TierChangedEvent/required",keyword:"required",params:{missingProperty: "data"},message:"must have required property '"+"data"+"'"};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
if(data.id !== undefined){
let data0 = data.id;
if(typeof data0 === "string"){
if(func1(data0) > 512){
const err4 = {instancePath:instancePath+"/id",schemaPath:"document#/components/schemas/TierChangedEvent/properties/id/maxLength",keyword:"maxLength",params:{limit: 512},message:"must NOT have more than 512 characters"};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
if(func1(data0) < 1){
const err5 = {instancePath:instancePath+"/id",schemaPath:"document#/components/schemas/TierChangedEvent/properties/id/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters"};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
else {
const err6 = {instancePath:instancePath+"/id",schemaPath:"document#/components/schemas/TierChangedEvent/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
if(data.type !== undefined){
if("tier.changed" !== data.type){
const err7 = {instancePath:instancePath+"/type",schemaPath:"document#/components/schemas/TierChangedEvent/properties/type/const",keyword:"const",params:{allowedValue: "tier.changed"},message:"must be equal to constant"};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
if(data.createdAt !== undefined){
if(!(typeof data.createdAt === "string")){
const err8 = {instancePath:instancePath+"/createdAt",schemaPath:"document#/components/schemas/TierChangedEvent/properties/createdAt/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
if(data.data !== undefined){
let data3 = data.data;
if(data3 && typeof data3 == "object" && !Array.isArray(data3)){
if(data3.passId === undefined){
const err9 = {instancePath:instancePath+"/data",schemaPath:"document#/components/schemas/TierChangedEvent/properties/data/required",keyword:"required",params:{missingProperty: "passId"},message:"must have required property '"+"passId"+"'"};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
if(data3.customerId === undefined){
const err10 = {instancePath:instancePath+"/data",schemaPath:"document#/components/schemas/TierChangedEvent/properties/data/required",keyword:"required",params:{missingProperty: "customerId"},message:"must have required property '"+"customerId"+"'"};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
if(data3.passId !== undefined){
if(typeof data3.passId !== "string"){
const err11 = {instancePath:instancePath+"/data/passId",schemaPath:"document#/components/schemas/TierChangedEvent/properties/data/properties/passId/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
if(data3.customerId !== undefined){
if(typeof data3.customerId !== "string"){
const err12 = {instancePath:instancePath+"/data/customerId",schemaPath:"document#/components/schemas/TierChangedEvent/properties/data/properties/customerId/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
}
else {
const err13 = {instancePath:instancePath+"/data",schemaPath:"document#/components/schemas/TierChangedEvent/properties/data/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
}
else {
const err14 = {instancePath,schemaPath:"document#/components/schemas/TierChangedEvent/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
validate39.errors = vErrors;
return errors === 0;
}
validate39.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};

export const ConsentChangedEvent = validate40;
const schema52 = {"$id":"ConsentChangedEvent","$ref":"document#/components/schemas/ConsentChangedEvent"};
const schema53 = {"type":"object","description":"News-and-offers consent was given or withdrawn.","required":["id","type","createdAt","data"],"additionalProperties":true,"properties":{"id":{"type":"string","minLength":1,"maxLength":512,"x-assumption":["event-id","event-id-order"],"description":"Identical across repeated deliveries of the same event; deduplicate by it."},"type":{"const":"consent.changed","description":"The event type."},"createdAt":{"type":"string","format":"date-time","description":"When it happened: ISO 8601, UTC with milliseconds."},"data":{"type":"object","description":"The consent as it is now.","required":["customerId","passIds"],"additionalProperties":true,"properties":{"customerId":{"type":"string","description":"Identifier of the customer."},"marketingConsent":{"x-assumption":"marketing-consent","description":"true when given, false when withdrawn. Its form is not specified, so compare with `=== true`."},"passIds":{"type":"array","description":"All cards of the customer.","items":{"type":"string"}}}}}};

function validate40(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
/*# sourceURL="ConsentChangedEvent" */;
let vErrors = null;
let errors = 0;
const evaluated0 = validate40.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.id === undefined){
const err0 = {instancePath,schemaPath:"document#/components/schemas/ConsentChangedEvent/required",keyword:"required",params:{missingProperty: "id"},message:"must have required property '"+"id"+"'"};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.type === undefined){
const err1 = {instancePath,schemaPath:"document#/components/schemas/ConsentChangedEvent/required",keyword:"required",params:{missingProperty: "type"},message:"must have required property '"+"type"+"'"};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(data.createdAt === undefined){
const err2 = {instancePath,schemaPath:"document#/components/schemas/ConsentChangedEvent/required",keyword:"required",params:{missingProperty: "createdAt"},message:"must have required property '"+"createdAt"+"'"};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if(data.data === undefined){
const err3 = {instancePath,schemaPath:"document#/components/schemas/ConsentChangedEvent/required",keyword:"required",params:{missingProperty: "data"},message:"must have required property '"+"data"+"'"};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
if(data.id !== undefined){
let data0 = data.id;
if(typeof data0 === "string"){
if(func1(data0) > 512){
const err4 = {instancePath:instancePath+"/id",schemaPath:"document#/components/schemas/ConsentChangedEvent/properties/id/maxLength",keyword:"maxLength",params:{limit: 512},message:"must NOT have more than 512 characters"};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
if(func1(data0) < 1){
const err5 = {instancePath:instancePath+"/id",schemaPath:"document#/components/schemas/ConsentChangedEvent/properties/id/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters"};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
else {
const err6 = {instancePath:instancePath+"/id",schemaPath:"document#/components/schemas/ConsentChangedEvent/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
if(data.type !== undefined){
if("consent.changed" !== data.type){
const err7 = {instancePath:instancePath+"/type",schemaPath:"document#/components/schemas/ConsentChangedEvent/properties/type/const",keyword:"const",params:{allowedValue: "consent.changed"},message:"must be equal to constant"};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
if(data.createdAt !== undefined){
if(!(typeof data.createdAt === "string")){
const err8 = {instancePath:instancePath+"/createdAt",schemaPath:"document#/components/schemas/ConsentChangedEvent/properties/createdAt/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
if(data.data !== undefined){
let data3 = data.data;
if(data3 && typeof data3 == "object" && !Array.isArray(data3)){
if(data3.customerId === undefined){
const err9 = {instancePath:instancePath+"/data",schemaPath:"document#/components/schemas/ConsentChangedEvent/properties/data/required",keyword:"required",params:{missingProperty: "customerId"},message:"must have required property '"+"customerId"+"'"};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
if(data3.passIds === undefined){
const err10 = {instancePath:instancePath+"/data",schemaPath:"document#/components/schemas/ConsentChangedEvent/properties/data/required",keyword:"required",params:{missingProperty: "passIds"},message:"must have required property '"+"passIds"+"'"};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
if(data3.customerId !== undefined){
if(typeof data3.customerId !== "string"){
const err11 = {instancePath:instancePath+"/data/customerId",schemaPath:"document#/components/schemas/ConsentChangedEvent/properties/data/properties/customerId/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
if(data3.passIds !== undefined){
let data5 = data3.passIds;
if(Array.isArray(data5)){
const len0 = data5.length;
for(let i0=0; i0<len0; i0++){
if(typeof data5[i0] !== "string"){
const err12 = {instancePath:instancePath+"/data/passIds/" + i0,schemaPath:"document#/components/schemas/ConsentChangedEvent/properties/data/properties/passIds/items/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
}
else {
const err13 = {instancePath:instancePath+"/data/passIds",schemaPath:"document#/components/schemas/ConsentChangedEvent/properties/data/properties/passIds/type",keyword:"type",params:{type: "array"},message:"must be array"};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
}
else {
const err14 = {instancePath:instancePath+"/data",schemaPath:"document#/components/schemas/ConsentChangedEvent/properties/data/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
}
else {
const err15 = {instancePath,schemaPath:"document#/components/schemas/ConsentChangedEvent/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
validate40.errors = vErrors;
return errors === 0;
}
validate40.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};

export const PingEvent = validate41;
const schema54 = {"$id":"PingEvent","$ref":"document#/components/schemas/PingEvent"};
const schema55 = {"type":"object","description":"A test sent from the console.","required":["id","type","createdAt"],"additionalProperties":true,"properties":{"id":{"type":"string","minLength":1,"maxLength":512,"x-assumption":["event-id","event-id-order"],"description":"Identical across repeated deliveries of the same event; deduplicate by it."},"type":{"const":"ping","description":"The event type."},"createdAt":{"type":"string","format":"date-time","description":"When it happened: ISO 8601, UTC with milliseconds."},"data":{"x-assumption":"ping-data","description":"Not specified, so any JSON value may come, or none."}}};

function validate41(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
/*# sourceURL="PingEvent" */;
let vErrors = null;
let errors = 0;
const evaluated0 = validate41.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.id === undefined){
const err0 = {instancePath,schemaPath:"document#/components/schemas/PingEvent/required",keyword:"required",params:{missingProperty: "id"},message:"must have required property '"+"id"+"'"};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.type === undefined){
const err1 = {instancePath,schemaPath:"document#/components/schemas/PingEvent/required",keyword:"required",params:{missingProperty: "type"},message:"must have required property '"+"type"+"'"};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(data.createdAt === undefined){
const err2 = {instancePath,schemaPath:"document#/components/schemas/PingEvent/required",keyword:"required",params:{missingProperty: "createdAt"},message:"must have required property '"+"createdAt"+"'"};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if(data.id !== undefined){
let data0 = data.id;
if(typeof data0 === "string"){
if(func1(data0) > 512){
const err3 = {instancePath:instancePath+"/id",schemaPath:"document#/components/schemas/PingEvent/properties/id/maxLength",keyword:"maxLength",params:{limit: 512},message:"must NOT have more than 512 characters"};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
if(func1(data0) < 1){
const err4 = {instancePath:instancePath+"/id",schemaPath:"document#/components/schemas/PingEvent/properties/id/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters"};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
else {
const err5 = {instancePath:instancePath+"/id",schemaPath:"document#/components/schemas/PingEvent/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
if(data.type !== undefined){
if("ping" !== data.type){
const err6 = {instancePath:instancePath+"/type",schemaPath:"document#/components/schemas/PingEvent/properties/type/const",keyword:"const",params:{allowedValue: "ping"},message:"must be equal to constant"};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
if(data.createdAt !== undefined){
if(!(typeof data.createdAt === "string")){
const err7 = {instancePath:instancePath+"/createdAt",schemaPath:"document#/components/schemas/PingEvent/properties/createdAt/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
}
else {
const err8 = {instancePath,schemaPath:"document#/components/schemas/PingEvent/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
validate41.errors = vErrors;
return errors === 0;
}
validate41.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};

export const Problem = validate42;
const schema56 = {"$id":"Problem","$ref":"document#/components/schemas/Problem"};
const schema57 = {"type":"object","description":"RFC 9457 problem details.","x-assumption":"problem-type","required":["type","title","status","detail"],"additionalProperties":true,"properties":{"type":{"type":"string","format":"uri-reference","description":"Names the kind of problem."},"title":{"type":"string","description":"A short summary of the kind."},"status":{"type":"integer","minimum":400,"maximum":599,"description":"The HTTP status."},"detail":{"type":"string","description":"What happened this time. Of a 422 it is suitable to show to the user."},"errors":{"type":"array","description":"The members at fault, where the service tells them.","items":{"type":"object","required":["pointer","detail"],"additionalProperties":true,"properties":{"pointer":{"type":"string","description":"JSON Pointer into the request body."},"detail":{"type":"string","description":"What is wrong with it."}}}}}};

function validate42(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
/*# sourceURL="Problem" */;
let vErrors = null;
let errors = 0;
const evaluated0 = validate42.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.type === undefined){
const err0 = {instancePath,schemaPath:"document#/components/schemas/Problem/required",keyword:"required",params:{missingProperty: "type"},message:"must have required property '"+"type"+"'"};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.title === undefined){
const err1 = {instancePath,schemaPath:"document#/components/schemas/Problem/required",keyword:"required",params:{missingProperty: "title"},message:"must have required property '"+"title"+"'"};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(data.status === undefined){
const err2 = {instancePath,schemaPath:"document#/components/schemas/Problem/required",keyword:"required",params:{missingProperty: "status"},message:"must have required property '"+"status"+"'"};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if(data.detail === undefined){
const err3 = {instancePath,schemaPath:"document#/components/schemas/Problem/required",keyword:"required",params:{missingProperty: "detail"},message:"must have required property '"+"detail"+"'"};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
if(data.type !== undefined){
if(!(typeof data.type === "string")){
const err4 = {instancePath:instancePath+"/type",schemaPath:"document#/components/schemas/Problem/properties/type/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(data.title !== undefined){
if(typeof data.title !== "string"){
const err5 = {instancePath:instancePath+"/title",schemaPath:"document#/components/schemas/Problem/properties/title/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
if(data.status !== undefined){
let data2 = data.status;
if(!((typeof data2 == "number") && (!(data2 % 1) && !isNaN(data2)))){
const err6 = {instancePath:instancePath+"/status",schemaPath:"document#/components/schemas/Problem/properties/status/type",keyword:"type",params:{type: "integer"},message:"must be integer"};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
if(typeof data2 == "number"){
if(data2 > 599 || isNaN(data2)){
const err7 = {instancePath:instancePath+"/status",schemaPath:"document#/components/schemas/Problem/properties/status/maximum",keyword:"maximum",params:{comparison: "<=", limit: 599},message:"must be <= 599"};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
if(data2 < 400 || isNaN(data2)){
const err8 = {instancePath:instancePath+"/status",schemaPath:"document#/components/schemas/Problem/properties/status/minimum",keyword:"minimum",params:{comparison: ">=", limit: 400},message:"must be >= 400"};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
}
if(data.detail !== undefined){
if(typeof data.detail !== "string"){
const err9 = {instancePath:instancePath+"/detail",schemaPath:"document#/components/schemas/Problem/properties/detail/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
if(data.errors !== undefined){
let data4 = data.errors;
if(Array.isArray(data4)){
const len0 = data4.length;
for(let i0=0; i0<len0; i0++){
let data5 = data4[i0];
if(data5 && typeof data5 == "object" && !Array.isArray(data5)){
if(data5.pointer === undefined){
const err10 = {instancePath:instancePath+"/errors/" + i0,schemaPath:"document#/components/schemas/Problem/properties/errors/items/required",keyword:"required",params:{missingProperty: "pointer"},message:"must have required property '"+"pointer"+"'"};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
if(data5.detail === undefined){
const err11 = {instancePath:instancePath+"/errors/" + i0,schemaPath:"document#/components/schemas/Problem/properties/errors/items/required",keyword:"required",params:{missingProperty: "detail"},message:"must have required property '"+"detail"+"'"};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
if(data5.pointer !== undefined){
if(typeof data5.pointer !== "string"){
const err12 = {instancePath:instancePath+"/errors/" + i0+"/pointer",schemaPath:"document#/components/schemas/Problem/properties/errors/items/properties/pointer/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
if(data5.detail !== undefined){
if(typeof data5.detail !== "string"){
const err13 = {instancePath:instancePath+"/errors/" + i0+"/detail",schemaPath:"document#/components/schemas/Problem/properties/errors/items/properties/detail/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
}
else {
const err14 = {instancePath:instancePath+"/errors/" + i0,schemaPath:"document#/components/schemas/Problem/properties/errors/items/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
}
else {
const err15 = {instancePath:instancePath+"/errors",schemaPath:"document#/components/schemas/Problem/properties/errors/type",keyword:"type",params:{type: "array"},message:"must be array"};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
}
else {
const err16 = {instancePath,schemaPath:"document#/components/schemas/Problem/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
validate42.errors = vErrors;
return errors === 0;
}
validate42.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};

export const contract = { Card, OperationList, ConsentState, CardAddedEvent, CardRemovedEvent, BalanceChangedEvent, TierChangedEvent, ConsentChangedEvent, PingEvent, Problem };
